"""What the world does when it is unwell: faults, which are tried again, as against outcomes, which are answers."""


class Unavailable(Exception):  # noqa: N818 - a state of the world, named as one
    """A port could not do what was asked, or cannot say whether it did; asking again later is right."""


class StoreUnavailable(Unavailable):
    """The store throttled, timed out, was cut off, or answered that it is ill. Never means 'no such item'."""


class QueueUnavailable(Unavailable):
    """The queue could not be reached, or refused for now."""


class CacheUnavailable(Unavailable):
    """The cache could not be reached: whoever asked does without it."""
