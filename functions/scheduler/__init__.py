"""The scheduler loop of one slot: decides the ticks that come due."""
