"""What several findings use: statistics, tables and how they are written, the look of figures."""
