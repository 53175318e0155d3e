//! All tests of fuzzy control as one program.
//! `cargo test -p sojourn-fuzzy --test all flower` runs those of one file.

mod flower;
mod fuzzyrtt;
mod lehto;
mod properties;
