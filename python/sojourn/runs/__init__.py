"""Executes runs: in threads, worker processes and clusters, with a cache, with laws in Python."""
