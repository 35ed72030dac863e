"""Without a retrained model: how far are our and the paper's means from Retrain's printed ones?"""

NEEDS = "original"  # this finding is only for benchmarks whose reference is the base model
AFTER = ("accuracy", "membership")
TITLE = "How far from the printed Retrain?"
PLACE = "summary"
ORDER = 4
