"""What make needs before anything is installed: the standard library only, on any Python that can start it."""
