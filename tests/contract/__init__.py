"""Does every adapter keep the port's promise? One suite per port, on every engine that can carry it."""
