"""Executes runs.

They run in threads, worker processes or clusters, with a cache and with laws in Python.
"""
