"""Where Retrain's means are printed ones: how far are our means from them, and the paper's?"""

NEEDS = "original"  # reference of benchmarks without a retrained model
AFTER = ("accuracy", "membership")
TITLE = "How far from the printed Retrain?"
PLACE = "summary"
ORDER = 4
