"""Are the writes literal, the items whole, and the answers judged rightly?"""
