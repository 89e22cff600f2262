"""Translations between the ports and real stores, queues, clocks and targets."""
