"""What a plug-in may import without torch: parameters, work, metrics, rows, and Protocols."""
