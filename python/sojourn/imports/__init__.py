"""Scenarios and link traces from files of other programs."""
