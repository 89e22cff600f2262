"""Does every store keep the promises of ports/store.py?"""
