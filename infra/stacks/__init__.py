"""Which stacks an installation has. Arrows point one way: data <- core <- workers <- api; storage outlives compute."""
