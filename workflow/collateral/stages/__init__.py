"""Stages that rules call: one typed function per file, which reads files and writes files."""
