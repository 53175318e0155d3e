//! Prints the verdict of each trial on s2n-quic's CUBIC.

use sojourn_harness::trials::{self, Law};
use sojourn_s2n_quic::{Cubic, pair};

fn main() {
    for (name, judged) in trials::run(Law::Cubic, &|flow| pair(flow, Cubic::default)) {
        println!("{name}: {judged}");
    }
}
