"""A proposed config as a file that explains itself."""

from __future__ import annotations

import json
from typing import Any

from collateral.config.errors import ConfigError
from collateral.config.yaml import parse
from collateral.plan.proposal import Proposal


def as_yaml(proposal: Proposal) -> str:
    """Return the config, with what one may want to change beside it."""
    (benchmark,) = proposal.config()["benchmarks"].values()
    wish, methods = proposal.wish, benchmark["methods"]
    lines = [
        f"# {len(proposal.tree.class_names)} classes, {len(proposal.tree.train):,} images to train "
        f"on, {len(proposal.tree.test):,} to test on; {proposal.num_forget:,} are to be forgotten.",
        "# Every key: docs/config.md. What it will cost: collateral estimate THIS_FILE",
        *(
            ["# Judge what another tool unlearned: `given:`, docs/your-model.md."]
            if wish.trained
            else []
        ),
        *([f"plugins: {_flow([*wish.plugins])}"] if wish.plugins else []),
        "benchmarks:",
        f"  {_flow(proposal.name)}:",
        f"    data: {_flow(benchmark['data'])}",
        *_about_data(proposal),
        f"    model: {_flow(benchmark['model'])}  # or resnet20, timm/<name>, a file of your own",
        *_about_base(proposal),
        f"    base: {_flow(benchmark['base'])}",
        f"    seeds: {_flow(benchmark['seeds'])}  # five are fair; ten tell small differences",
        *_forgotten(proposal),
        "    # A list of values is tuned over, without looking at Retrain. More methods:",
        "    # collateral list methods",
        "    methods:",
        *(f"      {name}: {_flow(params)}" for name, params in methods.items()),
        "    # Nothing done, and LTD with the retrained model's own soft labels: its upper bound.",
        f"    controls: {_flow(benchmark['controls'])}",
        "    track: all  # look after every epoch: who leads within which budget",
    ]
    return "\n".join(lines) + "\n"


def _about_data(proposal: Proposal) -> list[str]:
    trained, said = proposal.wish.trained, []
    if trained and not trained.mean:
        said += [
            "    # Add the mean: and std: that your model was trained with, if not these images'."
        ]
    source = proposal.wish.source
    if source.test_share:
        share = f"{source.test_share:.0%} of every class"
        said += [f"    # {share} are tested on; none of what is to be forgotten."]
    if source.test_by:
        said += [f"    # All images of one {source.test_by} are on the same side."]
    if trained and source.test_share:
        said += [
            "    # Your model may have been trained on them: TA and MIA cannot be trusted, as a",
            "    # check on the page says. Name images that it never saw: `test_path`.",
        ]
    return said


def _about_base(proposal: Proposal) -> list[str]:
    if proposal.wish.trained:
        return ["    # Your model; the rest is how Retrain is trained: state your own recipe."]
    return [
        "    # Without augmentation, so few epochs learn images by heart: what is to be forgotten",
        "    # must be known first. From pretrained weights: `init:`, docs/your-model.md.",
    ]


def _forgotten(proposal: Proposal) -> list[str]:
    told = proposal.forgotten()
    if "cells" in told:
        (cell,) = told["cells"].values()
        return ["    cells:", f"      withdrawn: {_flow(cell)}"]
    return [
        "    # Forget a part of a class; or list files: docs/your-data.md.",
        *(f"    {key}: {_flow(value)}" for key, value in told.items()),
    ]


def _flow(value: Any) -> str:
    """Write a value in one line of YAML; text that could be read as something else is quoted."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str):
        return value if _is_plain(value) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return format(value, "g")
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _is_plain(text: str) -> bool:
    try:
        return bool(parse(f"{{a: {text}}}") == {"a": text})
    except ConfigError:
        return False
