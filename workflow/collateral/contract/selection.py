"""The rules by which tuning chooses among trials, without Retrain."""

from typing import Literal, get_args

Rule = Literal["paper", "interval", "teacher"]
RULES: tuple[Rule, ...] = get_args(Rule)
PAPER: Rule = "paper"
TEACHER = "ltd"  # the method whose teacher the rule `teacher` asks
