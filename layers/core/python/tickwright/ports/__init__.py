"""What the core needs from the world, as Protocols whose docstrings are contracts."""
