"""Is the rule right? Values only: no fakes, no clock, no store."""
