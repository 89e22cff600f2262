"""The seeds' scenarios by name: a fleet that dies, a spike at the top of the hour, a store that fails over."""
