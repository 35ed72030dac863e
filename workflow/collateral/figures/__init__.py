"""Figures of a benchmark, as PDF and PNG; each draws a matplotlib Figure from a cell's numbers."""
