"""Does every queue keep the promises of ports/queue.py?"""
