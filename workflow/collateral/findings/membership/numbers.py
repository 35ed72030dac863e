"""Scores of the membership attacks on every run, and after every epoch of tracked runs."""

import math
from collections.abc import Iterator

import numpy as np

from collateral.contract.rows import MIA, TRACKED, Row, score_name
from collateral.findings.inputs import CellResults, Epoch, Result
from collateral.metrics.arrays import Ints
from collateral.metrics.membership import Draw, Examples, attack_scores, draw, non_member_rate


def of_run(cell: CellResults, result: Result) -> Iterator[Row]:
    """Yield a run's score in each attack of the config; the scores are NaN if the run diverged.

    For a tracked run, also yield its MIA score after every epoch.
    """
    seed = cell.split.attack_seed(result.seed)
    drawn = draw(cell.split.retain, len(cell.labels.test), seed)
    train, test = (
        Examples(outputs.logits, outputs.confidence, outputs.prediction, label)
        for outputs, label in ((result.train, cell.labels.train), (result.test, cell.labels.test))
    )
    scores = attack_scores(train, test, cell.split.forget, drawn, cell.attacks)
    for attack, score in scores.items():
        value = math.nan if result.is_diverged else score
        yield Row(result.run, score_name(attack), value, result.seed)
    for epoch, model in enumerate(result.epochs() if result.run in cell.tracked else ()):
        score = confidence_attack(model, cell.split.forget, drawn)
        yield Row(result.run, f"{TRACKED}{score_name(MIA)}", score, result.seed, at=epoch)


def confidence_attack(model: Epoch, forget: Ints, drawn: Draw) -> float:
    """Return the score of the attack by true-class confidence; tables call this score MIA."""
    train, test = (part.confidence.astype(np.float64) for part in (model.train, model.test))
    return non_member_rate(train[drawn.members], test[drawn.non_members], train[forget])
