"""Replays of senders' logs through our controllers: where the windows part, and why."""
