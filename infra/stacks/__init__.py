"""Which stacks an installation has. Arrows point one way: data <- core <- api and workers; storage outlives compute."""
