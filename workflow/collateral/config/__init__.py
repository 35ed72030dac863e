"""The config: what it may hold, how it is read, and what is said when it is wrong."""
