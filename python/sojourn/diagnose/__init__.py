"""Diagnoses an access line: what it is, what it does under load, and which setting helps."""
