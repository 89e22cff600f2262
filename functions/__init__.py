"""The Lambda functions: one folder each, thin; everything they do is in the library."""
