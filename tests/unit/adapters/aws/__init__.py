"""Are AWS services called with bounds, and is it known which of their errors pass?"""
