"""The page: one self-contained HTML file over all benchmarks."""
