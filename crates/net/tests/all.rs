//! All tests of the network as one program.
//! `cargo test -p sojourn-net --test all bounds` runs those of one file.

mod bounds;
mod host;
mod impairments;
mod lookahead;
mod reordering;
mod sink;
mod traces;
