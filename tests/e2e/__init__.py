"""The whole, in the shape that is deployed."""
