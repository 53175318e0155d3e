"""Other simulators as judges: the same scenario in both, over seeds, side by side."""
