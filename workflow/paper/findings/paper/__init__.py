"""Are our numbers the same as the paper's, in the paper's settings?

printed.csv has all 819 entries of the paper's tables, with our names of runs and metrics.
"""

NEEDS = "retrain"
TITLE = "Are our numbers those of the paper?"
PLACE = "runs"
ORDER = 60
