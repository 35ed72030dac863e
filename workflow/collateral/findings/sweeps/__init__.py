"""What does one parameter of a method change, all else being equal?"""

PLACE = "ablations"
ORDER = 60
