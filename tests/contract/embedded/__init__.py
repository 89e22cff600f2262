"""What only the embedded adapter has: a file that others may have written, damaged or hold, and programs that die."""
