"""Where a run has a setting of the paper: are its numbers the paper's?

printed.csv has all 819 cells of the paper's tables, as printed, by our names of runs and metrics.
"""

NEEDS = "retrain"
PLACE = "details"
ORDER = 60
