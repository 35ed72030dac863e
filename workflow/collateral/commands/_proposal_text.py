"""Format a proposed config as a YAML file with comments."""

from __future__ import annotations

import json
from typing import Any

from collateral.commands._proposal import Proposal
from collateral.config.errors import ConfigError
from collateral.config.yaml import parse


def format_yaml(proposal: Proposal) -> str:
    """Return the config as YAML, with comments on the values that a user may want to change."""
    (benchmark,) = proposal.config()["benchmarks"].values()
    request, methods = proposal.request, benchmark["methods"]
    lines = [
        f"# {len(proposal.tree.class_names)} classes, {len(proposal.tree.train):,} images to train "
        f"on, {len(proposal.tree.test):,} to test on; {proposal.num_forget:,} are to be forgotten.",
        "# Every key: docs/config.md. What it will cost: collateral estimate THIS_FILE",
        *(
            ["# Judge what another tool unlearned: `given:`, docs/your-model.md."]
            if request.trained
            else []
        ),
        *([f"plugins: {_flow([*request.plugins])}"] if request.plugins else []),
        "benchmarks:",
        f"  {_flow(proposal.name)}:",
        f"    data: {_flow(benchmark['data'])}",
        *_data_comments(proposal),
        f"    model: {_flow(benchmark['model'])}  # or resnet20, timm/<name>, a file of your own",
        *_base_comments(proposal),
        f"    base: {_flow(benchmark['base'])}",
        f"    seeds: {_flow(benchmark['seeds'])}  # five are fair; ten tell small differences",
        *_forget_lines(proposal),
        "    # A list of values is tuned over, without looking at Retrain. More methods:",
        "    # collateral list methods",
        "    methods:",
        *(f"      {name}: {_flow(params)}" for name, params in methods.items()),
        "    # Nothing done, and LTD with the retrained model's own soft labels: its upper bound.",
        f"    controls: {_flow(benchmark['controls'])}",
        "    track: all  # look after every epoch: who leads within which budget",
    ]
    return "\n".join(lines) + "\n"


def _data_comments(proposal: Proposal) -> list[str]:
    trained, lines = proposal.request.trained, list[str]()
    if trained and not trained.mean:
        lines += [
            "    # Add the mean: and std: that your model was trained with, if not these images'."
        ]
    source = proposal.request.source
    if source.test_share:
        share = f"{source.test_share:.0%} of every class"
        lines += [f"    # {share} are tested on; none of what is to be forgotten."]
    if source.test_by:
        lines += [f"    # All images of one {source.test_by} are on the same side."]
    if trained and source.test_share:
        lines += [
            "    # Your model may have been trained on them: TA and MIA cannot be trusted, as a",
            "    # check on the page says. Name images that it never saw: `test_path`.",
        ]
    return lines


def _base_comments(proposal: Proposal) -> list[str]:
    if proposal.request.trained:
        return ["    # Your model; the rest is how Retrain is trained: state your own recipe."]
    return [
        "    # Without augmentation, so few epochs learn images by heart: what is to be forgotten",
        "    # must be known first. From pretrained weights: `init:`, docs/your-model.md.",
    ]


def _forget_lines(proposal: Proposal) -> list[str]:
    forget = proposal.forget_config()
    if "cells" in forget:
        (cell,) = forget["cells"].values()
        return ["    cells:", f"      withdrawn: {_flow(cell)}"]
    return [
        "    # Forget a part of a class; or list files: docs/your-data.md.",
        *(f"    {key}: {_flow(value)}" for key, value in forget.items()),
    ]


def _flow(value: Any) -> str:
    """Format a value in one line of YAML; quote text that YAML could parse as another type."""
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
