"""What every status cache promises, and what one that is shared promises besides."""
