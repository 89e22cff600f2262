"""Programs that show what the product does; each is run by a test."""
