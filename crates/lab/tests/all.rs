//! All tests of runs as one program.
//! `cargo test -p sojourn-lab --test all beginnings` runs those of one file.

mod beginnings;
mod edges;
mod endless;
mod fast_links;
mod idle;
mod impaired;
mod kernel;
mod measures;
mod media;
mod names;
mod parallel;
mod paths;
mod theory;
mod window;
