"""Every condition, update and key condition, literally: one constant a write, with a sentence why it is safe."""
