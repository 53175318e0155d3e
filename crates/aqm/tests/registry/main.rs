//! What must hold for every registered algorithm: under any traffic (`model`), and of every parameter (`knobs`).
//! A new line in the registry is covered by this as it stands.

mod bench;
mod knobs;
mod model;
