"""Simulation of the production services and loops under a virtual clock: `make sim`."""
