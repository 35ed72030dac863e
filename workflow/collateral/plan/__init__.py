"""From the config to jobs: all that the Snakefile imports. No numpy, no torch."""
