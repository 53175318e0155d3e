"""Comparisons with other simulators: the same scenario in both, over seeds."""
