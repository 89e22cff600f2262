"""What Tickwright claims, and the checks of it: docs/testing.md says which folder answers which question."""
