"""ns-3 as a judge of queue disciplines."""
