#!/usr/bin/env bash
# After `snakemake --sdm conda` has made the environment: the package itself. Editable, because
# fingerprints are of the checkout's code, and by name: Snakemake runs a copy of this elsewhere.
set -euo pipefail
python -m pip install --no-deps --editable "$COLLATERAL_CHECKOUT"
