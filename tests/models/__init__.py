"""Does the whole survive what has gone wrong elsewhere?"""
