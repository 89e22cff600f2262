"""Which roles the resources of a stack play: a ready queue, a minute rule, a service function."""
