"""The only place that joins ports to adapters: from settings to a kit.

One module a deployment, so that a Lambda loads no SQLite and `make run` no AWS client: embedded.py and aws.py. Must
not decide anything. Timeouts, sizes and modes that the core leaves open are written out here, even where they equal a
default.
"""
