"""A worker that is frozen past its lease, and stores that refuse it afterwards."""
