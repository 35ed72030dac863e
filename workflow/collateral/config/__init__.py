"""The config: its schema, its reader, its checks and their error messages."""
