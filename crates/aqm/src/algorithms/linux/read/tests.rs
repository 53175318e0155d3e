use super::*;
use alloc::string::ToString;
use std::vec;

#[test]
fn a_discipline_is_sent_as_tc_sends_it() {
    let pie = Qdisc::read("pie target 15ms limit 1000 ecn").unwrap();
    let attribute = |number: u16, value: u32| [8u16.to_ne_bytes(), number.to_ne_bytes()].concat().into_iter().chain(value.to_ne_bytes());
    let expected: Vec<u8> = attribute(1, 15_000).chain(attribute(2, 1000)).chain(attribute(6, 1)).collect();
    assert_eq!(pie, Qdisc { kind: "pie", options: expected });
    // Linux `dualpi2_reset_default`: 41 and 819 are 0.16 and 3.2 in parts of 256.
    let gains = attribute(5, 41).chain(attribute(6, 819)).collect();
    assert_eq!(Qdisc::read("dualpi2 alpha 0.16 beta 3.2").unwrap(), Qdisc { kind: "dualpi2", options: gains });
    assert_eq!(Qdisc::read("codel").unwrap(), Qdisc { kind: "codel", options: vec![] });
    assert_eq!(Qdisc::read("bfifo limit 64k").unwrap().options, 65_536u32.to_ne_bytes());
    let limit = |text: &str| Qdisc::read(&format!("bfifo limit {text}")).ok().map(|fifo| fifo.options);
    let sizes = [("1514", 1514u32), ("2kb", 2048), ("3m", 3 << 20), ("2g", 2 << 30), ("4194303k", 4_294_966_272)];
    for (text, bytes) in sizes {
        assert_eq!(limit(text), Some(bytes.to_ne_bytes().to_vec()), "{text}");
    }
    assert_eq!(limit("4g"), None, "the kernel has 32 bits for it");
    assert_eq!(Qdisc::read("sfq perturb 10s").unwrap().options[4..8], 10u32.to_ne_bytes());
    assert_eq!(Qdisc::read("sfq").unwrap().options.len(), 72, "struct tc_sfq_qopt_v1");
    assert_eq!(Qdisc::read("dualpi2 coupling_factor 2").unwrap().options, [5, 0, 10, 0, 2, 0, 0, 0]);
    assert_eq!(Qdisc::read("cake bandwidth 8mbit").unwrap().options[4..], 1_000_000u64.to_ne_bytes());
}

/// The attributes that `tc` of iproute2 sends for these texts.
/// Sizes, logarithms (`Wlog`, `Plog`, `Scell_log`), the sum and three entries of the table of idle times, and the probability. The first is
/// the example of tc-red(8): a burst of 55 packets, with the weight 1/32, brings the average to 26.4 packets, which is more than the
/// required 26; 0.02 / 60000 B is above 2^-22.
#[test]
fn the_logarithms_and_the_table_of_red_are_those_of_tc() {
    type Sent = (&'static str, [u32; 3], [u8; 3], u32, [u8; 3], u32);
    let two_percent = 0x051e_b851;
    let sent: [Sent; 8] = [
        (
            "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10mbit probability 0.02",
            [400_000, 30_000, 90_000],
            [5, 22, 15],
            2593,
            [5, 10, 21],
            two_percent,
        ),
        ("red limit 100000 avpkt 1000", [100_000, 8333, 25_000], [3, 20, 13], 2740, [5, 11, 22], two_percent),
        (
            "red limit 60k min 10k max 40k avpkt 1500 burst 20 bandwidth 100mbit probability 0.1 ecn",
            [61_440, 10_240, 40_960],
            [5, 19, 12],
            2151,
            [4, 8, 17],
            0x1999_9999,
        ),
        (
            "red limit 3m min 300k max 900k avpkt 1500 burst 400 bandwidth 50mbit adaptive harddrop ecn",
            [3_145_728, 307_200, 921_600],
            [8, 25, 16],
            2121,
            [4, 8, 17],
            two_percent,
        ),
        ("choke limit 1000 min 100 max 300 burst 200 bandwidth 2mbit", [1000, 100, 300], [7, 24, 19], 2037, [4, 8, 16], two_percent),
        (
            // 0.5 / 32768 B is a power of 2.
            "red limit 400000 min 16384 max 49152 avpkt 1024 burst 30 bandwidth 10mbit probability 0.5",
            [400_000, 16_384, 49_152],
            [5, 17, 15],
            2539,
            [5, 10, 20],
            0x8000_0000,
        ),
        (
            "red limit 400000 avpkt 1001 burst 30 bandwidth 50111kbit min 20000 max 60000",
            [400_000, 20_000, 60_000],
            [4, 21, 12],
            3352,
            [6, 13, 27],
            two_percent,
        ),
        ("choke limit 1000 bandwidth 5mbit", [1000, 83, 250], [6, 23, 17], 2576, [5, 10, 20], two_percent),
    ];
    for (text, sizes, logs, sum, entries, probability) in sent {
        let options = Qdisc::read(text).unwrap().options;
        let table = &options[24..280];
        assert_eq!(options[4..16], sizes.map(u32::to_ne_bytes).concat(), "{text}");
        assert_eq!(options[16..19], logs, "{text}");
        assert_eq!((table.iter().map(|&at| u32::from(at)).sum::<u32>(), [table[64], table[128], table[254]]), (sum, entries), "{text}");
        assert_eq!(options[284..288], probability.to_ne_bytes(), "{text}");
        assert_eq!((table[255], options.len()), (31, 288), "{text}");
    }
}

#[test]
fn what_a_discipline_does_not_know_is_refused_with_what_it_knows() {
    let refused = |text: &str| Qdisc::read(text).unwrap_err().to_string();
    assert!(refused("nice").starts_with("linux: expected a queue discipline of Linux: sojourn, pfifo, pfifo_head_drop, bfifo, sfq, red"));
    assert!(refused("").ends_with("got \"\""));
    assert!(refused("codel alpha 2").starts_with("linux: expected a parameter of codel: target, limit"));
    assert_eq!(refused("codel target"), "linux: expected after \"target\" a time such as 15ms, got \"nothing\"");
    assert_eq!(refused("codel target 5"), "linux: expected after \"target\" a time such as 15ms, got \"5\"");
    assert_eq!(refused("codel limit -1"), "linux: expected after \"limit\" a number, got \"-1\"");
    assert_eq!(refused("dualpi2 alpha -1"), "linux: expected after \"alpha\" a number, got \"-1\"");
    assert_eq!(refused("pie ecn noecn"), "linux: expected each parameter of pie once, got \"noecn\" twice");
    assert_eq!(refused("red"), "linux: expected a limit, got red with no limit");
    assert_eq!(refused("red limit 9k min 6k max 3k"), "linux: expected a max of min or more, got red with min 6144 and max 3072");
}

#[test]
fn every_discipline_is_read_by_its_name_and_no_text_makes_it_fail() {
    for name in names() {
        let text = if matches!(name, "red" | "choke") { format!("{name} limit 100000") } else { name.to_string() };
        assert_eq!(Qdisc::read(&text).unwrap().kind, name);
    }
}

proptest::proptest! {
    #[test]
    fn any_numbers_are_read_or_refused(kind in 0..KINDS.len(), values in proptest::collection::vec((0usize..30, "[0-9]{0,20}(ms|k|mbit|\\.5)?"), 0..6)) {
        let kind = &KINDS[kind];
        let mut text = String::from(kind.name);
        for (at, value) in values {
            let Some(word) = kind.words.get(at % kind.words.len().max(1)) else { continue };
            text = format!("{text} {} {value}", word.word);
        }
        let _ = Qdisc::read(&text);
    }
}

#[test]
fn the_discipline_that_runs_ours_is_followed_by_its_queue() {
    assert_eq!(own_queue("sojourn"), Some("{}"));
    assert_eq!(own_queue("  sojourn { aqm = \"pie\" } "), Some("{ aqm = \"pie\" }"));
    assert_eq!((own_queue("sojourner"), own_queue("pie")), (None, None));
    // The text is an attribute of netlink: 4 bytes of header, 3 of text, filled up.
    assert_eq!(
        Qdisc::read("sojourn abc").unwrap(),
        Qdisc { kind: "sojourn", options: [7u16.to_ne_bytes(), 1u16.to_ne_bytes(), *b"ab", [b'c', 0]].concat() }
    );
}
