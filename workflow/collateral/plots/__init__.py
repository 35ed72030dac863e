"""Plots as data, and two renderers: matplotlib for print, Vega-Lite for the page."""
