"""Code that several findings use: captions, comparisons with Retrain, plot series, table files."""
