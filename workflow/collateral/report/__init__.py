"""The pages: one self-contained HTML file per benchmark, and an index page of all benchmarks."""
