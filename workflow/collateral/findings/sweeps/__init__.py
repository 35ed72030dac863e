"""What does one parameter of a method change, all else being equal?"""

NEEDS = "retrain"
PLACE = "ablations"
ORDER = 60
