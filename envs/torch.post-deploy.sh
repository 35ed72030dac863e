#!/usr/bin/env bash
# After `snakemake --sdm conda` has made the environment: the package itself, from this folder.
set -euo pipefail
python -m pip install --no-deps .
