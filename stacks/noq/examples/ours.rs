//! Each controller of the registry in noq-proto, alone and beside noq-proto's own CUBIC.

#[path = "../../shares.rs"]
mod shares;

fn main() {
    shares::print(|flow, name| sojourn_noq::pair_named(flow, name).unwrap());
}
