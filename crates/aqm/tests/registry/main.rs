//! What must be true of every registered algorithm under any traffic (`model`), and of every parameter (`knobs`).
//! These tests cover a new line in the registry without a change.

mod bench;
mod knobs;
mod model;
