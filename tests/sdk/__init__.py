"""Tests of the SDK: by itself, and against the product."""
