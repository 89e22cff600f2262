"""The watch loop: finds what a dead process has left unfinished."""
