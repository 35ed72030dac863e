"""The files on disk: their places and formats, atomic writes, and the readers of all of them."""
