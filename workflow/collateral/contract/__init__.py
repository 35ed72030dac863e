"""Interfaces for plug-ins: parameters, metrics, tables and others; no module imports torch."""
