"""Commands that people, make and the Snakefile call: one typed function per file."""
