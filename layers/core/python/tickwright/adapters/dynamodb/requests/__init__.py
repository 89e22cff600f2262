"""Each change of the domain as one request: which literal it is, on which item, with which values."""
