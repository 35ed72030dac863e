"""CF-k: fine-tune the last k blocks on the retained examples.

Deviations from the code of SCRUB's authors, whose CF-k others copied: their learning rate falls
from 0.01 to 5e-5 after epoch 10, here it is constant; they train in eval mode, which is
`batchnorm: frozen`; in their ResNets the head stays frozen, which is `head: false`; they pull the
weights to those at the start, which is `proximal: 0.1`. The code of corrective unlearning keeps the
epoch that is best on the test set; here the last one counts.
"""

from torch import nn

from collateral.methods._shared.last_blocks import select_last, train_last
from collateral.methods.cf_k.params import Params
from collateral.training.examples import Task
from collateral.training.run import Run


def unlearn(model: nn.Module, task: Task, params: Params, run: Run) -> nn.Module:
    """Return `model`, updated in place."""
    return train_last(model, task, params, run, select_last(model, params.k, head=params.head))
