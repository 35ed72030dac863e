#!/usr/bin/env bash
# After `snakemake --sdm conda` has made the environment: the package itself. Editable, because
# fingerprints are of the checkout's code, and by name: Snakemake runs a copy of this elsewhere.
# Without a checkout, the release that Snakemake itself runs with.
set -euo pipefail
if [ -n "$COLLATERAL_CHECKOUT" ]; then
    python -m pip install --no-deps --editable "$COLLATERAL_CHECKOUT"
else
    python -m pip install --no-deps "collateral==$COLLATERAL_VERSION"
fi
