"""Which stacks an installation has, and which stands on which.

Arrows point one way: data <- core <- workers <- api <- observability; storage outlives compute. There is no stack of a
console: there is none to be served yet.
"""
