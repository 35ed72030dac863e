"""One unlearning experiment from start to end, without Snakemake: read it from top to bottom.

    python docs/walkthrough.py              # prints its numbers, and saves walkthrough.png here
    python docs/walkthrough.py picture.png  # saves the picture under another name

The question: a model forgets 90 % of the eights. Which other images does it lose with them? The
reference is a model that is trained from the start without these eights (Retrain). One seed shows
how the numbers are made and proves nothing; `make run` repeats all of it over five seeds.
"""

import copy
import sys

import matplotlib.pyplot as plt
import numpy as np
import torch

from collateral.contract.params import TrainingParams
from collateral.data import digits
from collateral.data.forget import class_part
from collateral.methods.ft import method as ft
from collateral.methods.ft.params import Params as FTParams
from collateral.methods.ga import method as ga
from collateral.methods.ga.params import Params as GAParams
from collateral.methods.ltd import method as ltd
from collateral.methods.ltd.params import Params as LTDParams
from collateral.metrics import similarity
from collateral.models._build import build_model
from collateral.training.examples import Task, test_examples, train_examples
from collateral.training.fit import fit
from collateral.training.inference import accuracy, infer
from collateral.training.run import Run

CPU, SEED = torch.device("cpu"), 0
PICTURE = sys.argv[1] if len(sys.argv) > 1 else "walkthrough.png"
torch.set_num_threads(1)

# 1. The data: 1,347 images of digits to train on, 450 to test on, 8 x 8 pixels each.
data = digits.load(digits.Options())
train, test = train_examples(data, CPU), test_examples(data, CPU)

# 2. The forget set: the first 90 % of the eights. A `Task` is all that a method may see: the
#    examples to forget and the examples to retain. It contains no test set and no Retrain.
wanted = class_part.Params.model_validate({"class": "digit_8", "fraction": 0.9})
forget = torch.from_numpy(class_part.select(data.labels, wanted))
is_retained = torch.ones(len(train), dtype=torch.bool)
is_retained[forget] = False
task = Task(train.select(is_retained.nonzero().squeeze(1)), train.select(forget), data.info)
print(f"{len(task.forget)} eights to forget, {len(task.retain)} images to retain")

# 3. The base model, trained on everything, and Retrain, trained on the retained images. Both have
#    the same architecture and the same recipe. `Run` has the seed, the clock and the log.
recipe = TrainingParams(epochs=20, batch_size=64)


def train_model(examples, seed):
    """Return a ResNet-8 that was trained from the start on these examples."""
    run = Run(CPU, seed)
    return fit(build_model("resnet8", data.info), examples, test, recipe, run)


base = train_model(train, SEED)
retrain = train_model(task.retain, SEED + 1)

# 4. Unlearning: each method starts from a copy of the base model. FT trains on the retained images,
#    GA climbs the loss of the forgotten ones, and LTD learns labels for the forgotten images from
#    a small teacher that was trained on their neighbours. LTD has two phases.
shared = {"epochs": 5, "batch_size": 64}
teaching = {"k": 200, "teacher_lr": 0.05, "teacher_batch_size": 64, "teacher_epochs": 60}


def run_ltd():
    """Return the model that LTD makes from the base model."""
    params, run = LTDParams(**shared, **teaching), Run(CPU, SEED)
    prepared = ltd.prepare(base, task, params, run)
    return ltd.unlearn(copy.deepcopy(base), task, params, run, prepared)


models = {
    "Retrain": retrain,
    "Original": base,
    "FT": ft.unlearn(copy.deepcopy(base), task, FTParams(**shared, lr=0.05), Run(CPU, SEED)),
    "GA": ga.unlearn(copy.deepcopy(base), task, GAParams(**shared, lr=1e-3), Run(CPU, SEED)),
    "LTD": run_ltd(),
}

# 5. The averages: accuracy on the forgotten (UA), the retained (RA) and the test images (TA). A
#    good method has Retrain's values: a UA of zero is not the aim.
print(f"{'':10}{'UA':>7}{'RA':>7}{'TA':>7}   accuracy in %")
rates = {
    name: [100 * accuracy(model, examples) for examples in (task.forget, task.retain, test)]
    for name, model in models.items()
}
for name, values in rates.items():
    print(f"{name:10}" + "".join(f"{value:7.1f}" for value in values))

# 6. The neighbours: similarity of each test image to the forget set is the cosine of its features
#    in the base model with the sum of the features of the forgotten images. Near are the most
#    similar test images, as many as there are of the forgotten class.
features = infer(base, test)[0].numpy()
near_to = similarity.similarity(features, infer(base, task.forget)[0].numpy())
is_near = similarity.near_mask(near_to, data.labels.test, affected=[8])


def is_right(model):
    """Return for each test image whether the model predicts its class, as 0 or 1."""
    return (infer(model, test)[1].argmax(1).numpy() == data.labels.test).astype(float)


lost = {name: is_right(retrain) - is_right(model) for name, model in models.items()}
near_loss = {name: 100 * values[is_near].mean() for name, values in lost.items()}
far_loss = {name: 100 * values[~is_near].mean() for name, values in lost.items()}
print(f"{'':10}{'near':>7}{'far':>7}   points lost against Retrain, {is_near.sum()} near images")
for name in models:
    print(f"{name:10}{near_loss[name]:+7.1f}{far_loss[name]:+7.1f}")

# 7. The picture: points lost against Retrain in each bin of similarity.
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
edges = similarity.bin_edges(near_to)
bins = similarity.assign_bins(near_to, edges)
for name in ("FT", "GA", "LTD"):
    by_bin = 100 * similarity.bin_mean(lost[name], bins)
    is_filled = np.isfinite(by_bin)
    axes.plot(((edges[:-1] + edges[1:]) / 2)[is_filled], by_bin[is_filled], "o-", label=name)
axes.axhline(0, color="grey", linewidth=0.8)
axes.set(xlabel="similarity to the forget set", ylabel="points lost against Retrain")
axes.legend()
figure.savefig(PICTURE, dpi=150)
print(f"saved {PICTURE}")
