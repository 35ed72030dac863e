"""What crosses stages: data sets, splits, outputs, records, seeds, fingerprints, atomic writes."""
