"""How does one parameter of a method change the results, with all others fixed?"""

NEEDS = "retrain"
TITLE = "How does one parameter change the results?"
PLACE = "ablations"
ORDER = 60
