"""Plots as data, and the two renderers that draw them: in print and on the page."""
