"""Files of results: their names and formats, atomic writes, and readers."""
