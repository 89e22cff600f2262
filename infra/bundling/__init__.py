"""How the code of the functions is packed, without Docker and with the same bytes each time."""
