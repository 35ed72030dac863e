"""From the config to jobs: modules that the Snakefile imports, without numpy or torch."""
