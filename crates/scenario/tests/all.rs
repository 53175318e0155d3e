//! All tests of scenarios as one program.
//! `cargo test -p sojourn-scenario --test all algorithms` runs those of one file.

mod algorithms;
mod can_be_run;
mod dumbbell;
mod errors;
mod impairments;
mod keys;
mod large;
mod library;
mod lints;
mod malformed;
mod set_values;
mod sweep;
mod tables;
mod traces;
