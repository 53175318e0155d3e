//! Tests which impairments let endless data pass at one instant.
//! A scenario check rejects sources that would never let time advance.

use sojourn_link::kinds::{corruption, gilbert_elliott, jitter, loss, policer, reorder, shaper, tcp_option};
use sojourn_link::{ImpairmentKind, Per, REGISTRY, Spell, TcpOption};
use sojourn_units::{Bytes, Duration, Rate};

const MS: Duration = Duration::from_millis(1);

/// Tests loss and corruption of the smallest packet, a header of 40 B.
/// One of n independent units has an error with probability 1 - (1 - p)^n. If 1 of 100 packets is lost, a retransmission is sometimes lost
/// too, and its connection waits.
#[test]
fn loss_and_corruption_take_time_from_one_small_packet_in_a_hundred_on() {
    for (per, units) in [(Per::Packet, 1), (Per::Byte, 40), (Per::Bit, 320)] {
        let border = 1.0 - 0.99f64.powf(1.0 / f64::from(units));
        for (probability, takes) in [(1.001 * border, true), (0.999 * border, false), (0.0, false), (1.0, true)] {
            let loss: ImpairmentKind = loss::Params { probability, per }.into();
            let corruption: ImpairmentKind = corruption::Params { probability, per }.into();
            assert_eq!((loss.takes_time(), corruption.takes_time()), (takes, takes), "{per:?} {probability}");
        }
    }
}

/// Tests the mean loss by Elliott (1963).
/// The share of packets in a state is its mean length divided by that of both states.
#[test]
fn a_gilbert_elliott_channel_takes_time_if_its_mean_loss_does() {
    let takes = |good: Spell, bad: Spell, loss_good: f64, loss_bad: f64| {
        ImpairmentKind::from(gilbert_elliott::Params { good, bad, loss_good, loss_bad }).takes_time()
    };
    let packets = Spell::Packets;
    // 0.2 of 20 packets and none of 380 are lost: 1 of 100.
    assert!(takes(packets(379.0), packets(20.0), 0.0, 0.2) && !takes(packets(381.0), packets(20.0), 0.0, 0.2));
    assert!(takes(packets(20.0), packets(379.0), 0.2, 0.0) && !takes(packets(20.0), packets(381.0), 0.2, 0.0));
    // At one instant there is a single state, which may be the better one.
    let time = Spell::Time(MS);
    assert!(!takes(time, time, 0.0, 1.0) && takes(time, time, 0.02, 1.0));
}

#[test]
fn a_delay_takes_time_unless_it_is_always_zero() {
    use jitter::{Distribution, Normal, Pareto};
    let takes = |delay: Distribution| ImpairmentKind::from(jitter::Params { delay }).takes_time();
    let zero = Duration::ZERO;
    assert!(takes(Distribution::Uniform([zero, MS])) && !takes(Distribution::Uniform([zero, zero])));
    assert!(takes(Distribution::Normal(Normal { mean: MS, sd: zero })) && takes(Distribution::Normal(Normal { mean: zero, sd: MS })));
    assert!(!takes(Distribution::Normal(Normal { mean: zero, sd: zero })));
    assert!(takes(Distribution::Pareto(Pareto { mean: MS, shape: 2.5 })));
    assert!(takes(Distribution::Empirical(vec![zero, MS])) && !takes(Distribution::Empirical(vec![zero, zero])));
}

#[test]
fn reordering_takes_time_if_no_packet_can_avoid_it() {
    let takes = |probability: f64, gap: u64| ImpairmentKind::from(reorder::Params { by: MS, probability, gap }).takes_time();
    assert!(takes(1.0, 1) && !takes(0.999, 1) && !takes(1.0, 2));
}

/// Tests that a bucket of a gigabyte or less counts as soon empty.
/// Packets are then delayed or lost (rfc2697).
#[test]
fn a_token_bucket_takes_time_if_it_is_soon_empty() {
    let rate = Rate::from_bps(1_000_000).unwrap();
    for (burst, takes) in [(1_000_000_000, true), (1_000_000_001, false)] {
        let (burst, latency) = (Bytes(burst), Duration::from_millis(50));
        let policer: ImpairmentKind = policer::Params { rate, burst }.into();
        let shaper: ImpairmentKind = shaper::Params { rate, burst, latency }.into();
        assert_eq!((policer.takes_time(), shaper.takes_time()), (takes, takes));
    }
}

#[test]
fn the_other_impairments_let_data_pass_at_one_instant() {
    for name in ["duplication", "loss-list", "outage", "tcp-option", "ack-thinning"] {
        let entry = REGISTRY.iter().find(|entry| entry.name == name).unwrap();
        assert!(!(entry.example)().takes_time(), "{name}");
    }
}

/// Tests which action changes headers.
/// A host that only reads headers cannot replace an option by NOPs (iptables `TCPOPTSTRIP`), but can drop the packet.
#[test]
fn only_stripping_an_option_changes_headers() {
    for entry in REGISTRY {
        let kind = (entry.example)();
        assert_eq!(kind.changes_headers(), kind.name() == "tcp-option", "{}", entry.name);
    }
    let drops = tcp_option::Params { option: TcpOption::Sack, action: tcp_option::Action::Drop };
    assert!(!ImpairmentKind::from(drops).changes_headers());
}
