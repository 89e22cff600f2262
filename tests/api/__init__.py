"""Does the HTTP API answer as its document says, and refuse whatever else with what to change?"""
