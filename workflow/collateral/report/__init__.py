"""The pages: a self-contained HTML file a benchmark, and an index over all of them."""
