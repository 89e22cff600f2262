"""What each entity looks like as an item: the only place where camelCase meets snake_case.

Both directions build the domain's own dataclass, whose invariants are asserted thereby, on the way in and out.
"""
