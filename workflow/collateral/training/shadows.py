"""Shadow models: draw their training sets, unlearn from them, and compute margins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from collateral.contract.conventions import SKIPPED, count_share, derive_seed
from collateral.contract.params import MethodParams
from collateral.results.outputs import Exposure, ShadowMargins
from collateral.training.checkpoints import Checkpoints
from collateral.training.examples import Examples
from collateral.training.inference import infer
from collateral.training.run_method import Method


def draw_membership(num_examples: int, count: int, share: float) -> NDArray[np.bool_]:
    """Draw the training sets of `count` models as a mask, (models, examples).

    Every example is in the training sets of exactly the fraction `share` of the models, as in the
    experiments of LiRA, so that all examples have the same number of models trained with them.
    """
    rng = np.random.default_rng(derive_seed("shadows", num_examples, count))
    places = rng.random((count, num_examples)).argsort(axis=0)
    is_in: NDArray[np.bool_] = places < count_share(count, share)
    return is_in


def compute_margins(model: nn.Module, examples: Examples) -> NDArray[np.float32]:
    """Return log p - log(1 - p) of the true class: its logit minus log-sum-exp of other logits."""
    _, logits = infer(model, examples)
    labels = examples.labels.cpu()[:, None]
    own = logits.gather(1, labels).squeeze(1)
    others = logits.scatter(1, labels, -torch.inf).logsumexp(1)
    margins: NDArray[np.float32] = (own - others).numpy()
    return margins


DONE = "done"  # name of the checkpoint of a finished shadow model


@dataclass(frozen=True)
class UnlearnedShadow:
    """A shadow model after unlearning."""

    margin: torch.Tensor  # margins of all train examples
    seconds: dict[str, float]  # seconds by phase
    skipped: str  # reason why the method could not run; empty if it ran
    devices: list[str]  # names of the devices on which the method ran
    is_untouched: bool = False  # whether the shadow model was trained on no forget example


def unlearn_shadow(
    method: Method,
    params: MethodParams,
    train: Examples,
    shadow: ShadowMargins,
    checkpoints: Checkpoints,
) -> UnlearnedShadow:
    """Unlearn the forget set of `method.task` from a shadow model, or load the finished result.

    The margins are unchanged if the shadow model was trained on no example of the forget set.
    """
    if not len(method.task.forget):
        return UnlearnedShadow(torch.from_numpy(shadow.margin), {}, "", [], is_untouched=True)
    if saved := checkpoints.load(DONE):
        return UnlearnedShadow(**saved)
    prepared, inputs = None, []
    if method.has_prepare:
        prepared = method.prepare(params, checkpoints.within("prepare"))
        inputs = [prepared.tensors]
    model, this = method.unlearn(params, *inputs, checkpoints=checkpoints)
    if prepared:
        prepared.add_to(this)
    margin = torch.from_numpy(compute_margins(model, train))
    done = UnlearnedShadow(margin, dict(this.clock.seconds), this.skipped, this.devices)
    checkpoints.clear()  # deleted, because checkpoints of many models take much space
    checkpoints.save(DONE, vars(done))
    return done


def stack_margins(shadows: list[ShadowMargins], found: list[UnlearnedShadow]) -> Exposure:
    """Stack all shadow models' margins before and after unlearning; NaN after a skipped method."""
    after = np.stack([one.margin.numpy() for one in found])
    after[[bool(one.skipped) for one in found]] = np.nan
    return Exposure(
        is_in=np.stack([shadow.is_in for shadow in shadows]),
        before=np.stack([shadow.margin for shadow in shadows]),
        after=after,
    )


def summarize_status(found: list[UnlearnedShadow]) -> dict[str, Any]:
    """Return "skipped" if the method was skipped on all models with forget examples, else "ok"."""
    reasons = [one.skipped for one in found if one.skipped]
    if not reasons:
        return {"status": "ok"}
    is_whole = all(one.skipped or one.is_untouched for one in found)
    status = SKIPPED if is_whole else "ok"
    return {"status": status, "reason": reasons[0], "skipped_members": len(reasons)}


def sum_seconds(found: list[UnlearnedShadow]) -> dict[str, float]:
    """Return the seconds of all shadow models together, by phase."""
    phases = dict.fromkeys(phase for one in found for phase in one.seconds)
    return {phase: sum(one.seconds.get(phase, 0.0) for one in found) for phase in phases}
