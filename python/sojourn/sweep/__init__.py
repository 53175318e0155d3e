"""Sweeps over fields of a scenario."""
