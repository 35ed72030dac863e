"""Inference: logits and features of images without augmentation, in eval mode."""

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from collateral.models._classifier import Classifier, eval_mode
from collateral.results.outputs import Embeddings, ModelOutputs, Outputs
from collateral.training.examples import Examples

BATCH_SIZE = 256  # on a CPU, batch sizes from 64 to 256 are equally fast, and 512 is slower


def infer(model: nn.Module, examples: Examples) -> tuple[Tensor, Tensor]:
    """Return features and logits in float32 on the CPU, one row per example, in the given order."""
    classifier = cast(Classifier, model)
    features, logits = [], []
    with eval_mode(model):
        for x, _ in examples.in_order(BATCH_SIZE):
            features.append(classifier.features(x))
            logits.append(classifier.head(features[-1]))
    return torch.cat(features).float().cpu(), torch.cat(logits).float().cpu()


def accuracy(model: nn.Module, examples: Examples) -> float:
    """Return the accuracy of the model; NaN without examples."""
    if not len(examples):
        return float("nan")
    _, logits = infer(model, examples)
    return (logits.argmax(1) == examples.labels.cpu()).double().mean().item()


def compute_outputs(
    model: nn.Module, train: Examples, test: Examples
) -> tuple[ModelOutputs, Embeddings]:
    """Return outputs and features of the model on the train and the test set, in one pass."""
    (train_features, train_logits), (test_features, test_logits) = (
        infer(model, examples) for examples in (train, test)
    )
    outputs = ModelOutputs(
        _outputs(train_logits, train.labels.cpu()), _outputs(test_logits, test.labels.cpu())
    )
    return outputs, Embeddings(train_features.numpy(), test_features.numpy())


def _outputs(logits: Tensor, labels: Tensor) -> Outputs:
    confidence = logits.softmax(1).gather(1, labels[:, None]).squeeze(1)
    # Logits are limited to 60,000, because float16 would turn values above 65,504 into infinity.
    half = logits.clamp(-6e4, 6e4).half()
    prediction = logits.argmax(1).numpy().astype(np.int64)
    return Outputs(half.numpy(), confidence.numpy(), prediction, labels.numpy())
