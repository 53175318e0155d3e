//! What `docs/tcp.md` says of the profiles is what they are.

use sojourn_sim::tcp::{Handshake, Recovery, RttHint, SackAlgorithm, TcpParams, WindowBasis};
use sojourn_units::Duration;

const DOCUMENT: &str = include_str!("../../../docs/tcp.md");

/// Every field by name with its value as the document writes it. A field more is an error here until it has a line there.
fn fields(params: &TcpParams) -> Vec<(&'static str, String)> {
    let TcpParams {
        mss,
        header,
        sack_option,
        window,
        control,
        recovery,
        handshake,
        initial_window,
        initial_ssthresh,
        initial_rto,
        min_rto,
        max_rto,
        rto_slop,
        tick,
        tick_arithmetic,
        timestamps,
        dupack_threshold,
        limited_transmit,
        delayed_ack,
        ack_every,
        ecn,
        ecn_on_retransmit,
        basis,
        recovery_burst,
        deflate_on_exit,
        ecn_backoff,
        avoid_multiple_fast_retransmits,
        hold_ssthresh_on_repeated_rto,
        loss_cwnd_floor,
        ecn_cwnd_floor,
        ignore_ece_after_timeout,
        update_recover_after_ecn,
        limited_transmit_new_data_only,
        rto_3s_after_lost_syn,
        immediate_ack_of_duplicates,
        sack_algorithm,
        growth_needs_limit,
        abc,
        inflight_limit,
        restart_after_idle,
        linux_variation,
        whole_windows,
        reader,
        rtt_hint,
        clock_offset,
        clock_skew_ppm,
    } = params;
    let flag = |on: &bool| if *on { "yes" } else { "no" }.to_string();
    let recovery = match recovery {
        Recovery::Reno => "reno",
        Recovery::NewReno => "newreno",
        Recovery::Sack => "sack",
    };
    let sack_algorithm = match sack_algorithm {
        SackAlgorithm::Rfc6675 => "rfc6675",
        SackAlgorithm::Ns2Sack1 => "ns2 sack1",
        SackAlgorithm::RateHalving => "rate halving",
    };
    let handshake = match handshake {
        Handshake::None => "none",
        Handshake::OneWay => "oneway",
        Handshake::ThreeWay => "threeway",
    };
    let basis = match basis {
        WindowBasis::Cwnd => "cwnd",
        WindowBasis::FlightSize => "in flight",
    };
    vec![
        ("mss", format!("{mss} B")),
        ("header", format!("{header} B")),
        ("sack_option", format!("{sack_option} B")),
        ("window", window.to_string()),
        ("control", control.name().to_string()),
        ("recovery", recovery.to_string()),
        ("sack_algorithm", sack_algorithm.to_string()),
        ("handshake", handshake.to_string()),
        ("initial_window", initial_window.to_string()),
        ("initial_ssthresh", initial_ssthresh.to_string()),
        ("initial_rto", initial_rto.to_string()),
        ("min_rto", min_rto.to_string()),
        ("max_rto", max_rto.to_string()),
        ("rto_slop", rto_slop.to_string()),
        ("tick", tick.to_string()),
        ("tick_arithmetic", flag(tick_arithmetic)),
        ("timestamps", flag(timestamps)),
        ("dupack_threshold", dupack_threshold.to_string()),
        ("limited_transmit", flag(limited_transmit)),
        ("delayed_ack", delayed_ack.as_ref().map_or("no".to_string(), Duration::to_string)),
        ("ack_every", ack_every.to_string()),
        ("ecn", flag(ecn)),
        ("ecn_on_retransmit", flag(ecn_on_retransmit)),
        ("basis", basis.to_string()),
        ("recovery_burst", recovery_burst.to_string()),
        ("deflate_on_exit", flag(deflate_on_exit)),
        ("ecn_backoff", flag(ecn_backoff)),
        ("avoid_multiple_fast_retransmits", flag(avoid_multiple_fast_retransmits)),
        ("hold_ssthresh_on_repeated_rto", flag(hold_ssthresh_on_repeated_rto)),
        ("loss_cwnd_floor", flag(loss_cwnd_floor)),
        ("ecn_cwnd_floor", flag(ecn_cwnd_floor)),
        ("ignore_ece_after_timeout", flag(ignore_ece_after_timeout)),
        ("update_recover_after_ecn", flag(update_recover_after_ecn)),
        ("limited_transmit_new_data_only", flag(limited_transmit_new_data_only)),
        ("rto_3s_after_lost_syn", flag(rto_3s_after_lost_syn)),
        ("immediate_ack_of_duplicates", flag(immediate_ack_of_duplicates)),
        ("growth_needs_limit", flag(growth_needs_limit)),
        ("abc", abc.to_string()),
        ("inflight_limit", flag(inflight_limit)),
        ("restart_after_idle", flag(restart_after_idle)),
        ("linux_variation", flag(linux_variation)),
        ("whole_windows", flag(whole_windows)),
        ("reader", reader.map_or("–".to_string(), |rate| rate.to_string())),
        (
            "rtt_hint",
            match rtt_hint {
                RttHint::Off => "no".to_string(),
                RttHint::Smoothed => "yes".to_string(),
                RttHint::Claimed(ms) => format!("{ms} ms"),
            },
        ),
        ("clock_offset", format!("{clock_offset} ns")),
        ("clock_skew_ppm", clock_skew_ppm.to_string()),
    ]
}

#[test]
fn the_document_gives_every_profile_field_by_field() {
    let profiles = [TcpParams::rfc(), TcpParams::ns2(), TcpParams::ns2_linux(), TcpParams::linux(), TcpParams::freebsd()];
    let columns = profiles.each_ref().map(fields);
    let mut wrong = Vec::new();
    for (row, (name, _)) in columns[0].iter().enumerate() {
        let values: Vec<&str> = columns.iter().map(|column| column[row].1.as_str()).collect();
        let expected = format!("| `{name}` | {} |", values.join(" | "));
        if !DOCUMENT.lines().any(|line| line.starts_with(&expected)) {
            wrong.push(expected);
        }
    }
    assert!(wrong.is_empty(), "docs/tcp.md must have these lines:\n{}", wrong.join("\n"));
}
