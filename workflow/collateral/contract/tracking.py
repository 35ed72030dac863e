"""What is measured after every epoch of a tracked run, by name."""

TRACKED = "epoch_"  # before the names, in history.csv and metrics.csv
