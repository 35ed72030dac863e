"""Plots as data, drawn by matplotlib for printed figures and by Vega-Lite for the web page."""
