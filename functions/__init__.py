"""The Lambda functions: one folder each, thin; everything they do is in the library."""

import gc

# An import makes up to a hundred and twenty thousand objects that stay: looking them through again and again for
# garbage was a good part of a cold start. From here on the collector looks when there are so many new ones.
gc.set_threshold(150_000)
