"""Stages are the commands that Snakemake rules call: one typed function per file."""
