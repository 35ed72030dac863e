"""Which retained examples the teacher learns."""

from torch import Tensor, nn

from collateral.methods.ltd.diagnostic import diagnose
from collateral.methods.ltd.params import Prepare
from collateral.training.examples import Task
from collateral.training.inference import infer
from collateral.training.run import Run
from collateral.training.support import select, similarity


def choose_support(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return `support`, places among the retained examples, and the numbers that chose it."""
    with run.phase("embedding"):
        retain_features, retain_logits = infer(model, task.retain)
        forget_features, forget_logits = infer(model, task.forget)
    with run.phase("support"):
        scores = similarity(retain_features, forget_features)
    found = {"similarity": scores}
    size = params.k
    if params.min_similarity is not None:
        size = _count_above(scores, params.min_similarity)
    elif size == "auto":
        with run.phase("diagnostic"):
            forget = task.forget.relabelled(forget_logits.argmax(1))
            was_right = retain_logits.argmax(1) == task.retain.labels.cpu()
            step = diagnose(model, task.retain, forget, scores, was_right)
        run.report(auto_rate=step.rate)
        found |= {"auto_edges": step.edges, "auto_drop": step.drop}
        size = step.size
    with run.phase("support"):
        found["support"] = select(scores, size, params.support, run.generator)
    return found


def _count_above(scores: Tensor, least: float) -> int:
    count = int((scores >= least).sum())
    if not count:
        raise ValueError(
            f"min_similarity: {least}: no retained example is so similar to the forget set; "
            f"the most similar one has {scores.max():.3f}"
        )
    return count
