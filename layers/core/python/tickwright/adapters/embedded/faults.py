"""What can be wrong with the file itself: named, so that whoever starts the program can say it in one line.

These are not faults of the moment (ports/faults.py): trying again is of no use until a person has changed something.
"""


class StoreUnusable(Exception):  # noqa: N818 - a state of the file, named as one
    """The file cannot be a store: its folder is not writable, it is damaged, or it is something else."""


class SchemaTooNew(StoreUnusable):
    """The file was written by a newer version of the program."""
