"""Is each use case right, on a store in memory and in virtual time?"""
