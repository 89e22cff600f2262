"""Is what we deploy what we meant?"""
