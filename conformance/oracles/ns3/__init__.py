"""ns-3 as a reference simulator of queue disciplines and congestion control."""
