"""Builders and servers that tests share; no assertion lives here."""
