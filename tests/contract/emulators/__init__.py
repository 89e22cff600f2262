"""Do the engines, that the other contract suites stand on, behave as those suites assume?"""
