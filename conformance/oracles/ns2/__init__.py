"""ns-2.35 as a judge of the simulator: one scenario, written for both, run over seeds, printed side by side."""
