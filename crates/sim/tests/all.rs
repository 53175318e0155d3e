//! All tests of the simulator as one program.
//! `cargo test -p sojourn-sim --test all timelines` runs those of one file.

mod bounds;
mod by_hand;
mod conformance;
mod drawn;
mod elision;
mod lookahead;
mod memory;
mod network_by_hand;
mod paced;
mod parts;
mod queues;
mod reading;
mod receiver_window;
mod records;
mod timelines;
mod watch;
