//! smoltcp's transfers over a bottleneck of 10 Mbit/s.

use sojourn_harness::{Dumbbell, Fate, Harness, PacketKind, Run, scenario};
use sojourn_smoltcp::{CongestionControl, pair};

/// A transfer of 5 MB, which takes at least 4 s, without one segment.
fn transfer(controller: CongestionControl, dropped: u64) -> Run {
    let network = Dumbbell::new("10 Mbit/s", "40 ms").limit("100 packets").to_toml();
    let flow = format!(
        "{network}\n[[flows]]\nname = \"tcp\"\nfrom = \"a\"\nto = \"b\"\nhost = \"smoltcp\"\ntraffic = {{ kind = \"bulk\", size = \"5 MB\" }}\n"
    );
    let harness = Harness::new(scenario(&flow).unwrap()).host("smoltcp", |flow| pair(flow, controller));
    harness.on_data("tcp/0", dropped..=dropped, Fate::Drop).run().unwrap()
}

/// Goodputs of smoltcp and of the simulator's TCP with CUBIC, in bit/s.
fn shares(controller: CongestionControl) -> [f64; 2] {
    let network = Dumbbell::new("10 Mbit/s", "40 ms").queue("codel").duration("30 s").flow("tcp", "smoltcp").tcp("ours", "cubic");
    let run = Harness::new(network.check().unwrap()).host("smoltcp", |flow| pair(flow, controller)).run().unwrap();
    ["tcp/0", "ours/0"].map(|name| run.record.flows.iter().find(|flow| flow.name == name).unwrap().goodput_bps)
}

#[test]
fn a_transfer_completes_although_a_segment_is_lost() {
    for controller in [CongestionControl::Reno, CongestionControl::Cubic] {
        let run = transfer(controller, 50);
        assert_eq!(run.record.flows[0].completed, 1);
        let dropped = run.log.packets.iter().filter(|packet| packet.kind == PacketKind::Dropped).count();
        assert_eq!(dropped, 1, "the script drops one segment, and the queue none");
    }
}

#[test]
fn a_full_segment_has_1500_bytes_and_an_ack_40() {
    let run = transfer(CongestionControl::Cubic, 50);
    let sizes = |back| {
        run.log.packets.iter().filter(move |packet| packet.back == back && packet.kind == PacketKind::Sent).map(|packet| packet.size)
    };
    assert_eq!(sizes(false).max(), Some(1500));
    assert_eq!(sizes(true).min(), Some(40));
}

#[test]
fn two_runs_send_the_same_packets_at_the_same_times() {
    let (first, second) = (transfer(CongestionControl::Cubic, 50), transfer(CongestionControl::Cubic, 50));
    assert_eq!(first.log, second.log);
    assert_eq!(first.record.fingerprint, second.record.fingerprint);
}

#[test]
fn its_cubic_shares_with_ours() {
    let [theirs, ours] = shares(CongestionControl::Cubic);
    // Two flows with one law and one RTT have equal shares; recovery without SACK costs smoltcp some of its share.
    let share = theirs / (theirs + ours);
    assert!((0.4..=0.6).contains(&share), "expected about a half, got {share}");
    assert!(theirs + ours > 9e6, "expected a full link of 10 Mbit/s, got {}", theirs + ours);
}
