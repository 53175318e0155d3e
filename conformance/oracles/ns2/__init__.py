"""ns-2.35 as a reference simulator: one scenario for both simulators, run over seeds."""
