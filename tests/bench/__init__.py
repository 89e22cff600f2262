"""Figures, not verdicts: each module is run by hand or by a make target and prints what it measured."""
