"""Scenarios, records, statistics and files: the base of all rooms."""
