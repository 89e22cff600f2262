"""What is measured as it is written."""
