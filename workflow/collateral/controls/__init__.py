"""Runs to compare with, shown apart and never ranked; the same interface as a method."""
