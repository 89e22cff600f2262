"""Inputs that nobody has thought of: coverage-guided bytes, requests from the OpenAPI, operations beside a model."""
