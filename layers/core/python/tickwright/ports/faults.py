"""What the world does when it is unwell: faults, which are tried again, as against outcomes, which are answers."""


class Unavailable(Exception):  # noqa: N818 - a state of the world, named as one
    """A port could not do what was asked, or cannot say whether it did; asking again later is right."""


class StoreUnavailable(Unavailable):
    """The store timed out, was cut off, answered that it is ill, or put off to the end. Never means 'no such item'."""


class StoreBusy(StoreUnavailable):
    """It answers, and its last word was 'not now': it throttled, or somebody else had the item. No silence."""


class QueueUnavailable(Unavailable):
    """The queue could not be reached, or refused for now."""


class CacheUnavailable(Unavailable):
    """The cache could not be reached: whoever asked does without it."""
