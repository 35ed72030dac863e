"""Interfaces for plug-ins without torch: parameters, metrics, rows, tables, work, data."""
