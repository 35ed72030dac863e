"""RUM: split the forget set by a score, and unlearn each part by a method of its own.

After kairanzhao/RUM (f593c9d). Deviations: the score is by default the base model's loss, where RUM
takes memorisation from a stored file; the parts are shares of the given forget set, where RUM draws
from the train set the 1,000 examples with the lowest memorisation, the 1,000 nearest to 0.5 and the
1,000 with the highest (as the forget set `memorised` with `level: thirds` does; an example that is
among both the highest and those nearest to 0.5 counts as one of the highest); RUM's code randomises
labels for CIFAR-10 and SVHN only, and trains RL and SalUn on true labels on CIFAR-100.
"""

from torch import Tensor, nn
from torch.nn import functional as F

from collateral.contract.conventions import Skipped
from collateral.methods._shared.nearest import similarity_to_nearest
from collateral.methods.rum.params import Params
from collateral.training.examples import Task, move_to
from collateral.training.inference import infer
from collateral.training.run import Run
from collateral.training.run_method import run_within


def unlearn(model: nn.Module, task: Task, params: Params, run: Run) -> nn.Module:
    """Return `model`, updated in place."""
    order = compute_scores(model, task, params.score).argsort(stable=True)
    methods = params.by_part
    for key, ranks in split_ranks(len(task.forget), params).items():
        if key in methods and ranks:
            name, inner = methods[key]
            with run.phase(key):
                step = select_part(task, order, ranks, rehearse=params.rehearse)
                model = run_within(name, inner, model, step, run)
    return model


def split_ranks(count: int, params: Params) -> dict[str, range]:
    """Return the ranks of the examples in each part; the parts are unlearned in this order."""
    low, high = round(params.low_share * count), round(params.high_share * count)
    first = max(low, count - high)
    return {"low": range(low), "mid": range(low, first), "high": range(first, count)}


def compute_scores(model: nn.Module, task: Task, score: str) -> Tensor:
    """Return the score of each forget example; it is high where the model may have memorised."""
    if score == "memorisation":
        if task.memorised is None:
            raise Skipped("score: memorisation: the forget set is not of the kind `memorised`")
        return task.memorised
    features, logits = infer(model, task.forget)
    if score == "loss":
        return F.cross_entropy(logits, task.forget.labels.cpu(), reduction="none")
    return -similarity_to_nearest(features, infer(model, task.retain)[0])


def select_part(task: Task, order: Tensor, ranks: range, *, rehearse: bool) -> Task:
    """Return a task that forgets one part; later parts are retained if they are rehearsed."""
    forget = task.forget
    # Examples of a part keep their order in the forget set.
    here, later = (
        move_to(some.sort().values, forget.rows.device)
        for some in (order[ranks.start : ranks.stop], order[ranks.stop :])
    )
    retain = task.retain
    if rehearse and len(later):
        retain = retain.joined(forget.select(later))
    return Task(retain, forget.select(here), task.info)
