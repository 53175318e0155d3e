"""Comparisons of queues, controllers and fields of one scenario."""
