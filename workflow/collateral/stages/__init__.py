"""One thin file a stage: read files, call the library, write files."""
