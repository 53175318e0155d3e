//! Each controller of the registry in s2n-quic, alone and beside s2n-quic's own CUBIC.

#[path = "../../shares.rs"]
mod shares;

fn main() {
    shares::print(|flow, name| sojourn_s2n_quic::pair_named(flow, name).unwrap());
}
