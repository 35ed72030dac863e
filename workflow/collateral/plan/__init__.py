"""Modules that turn the config into jobs; they need neither numpy nor torch."""
