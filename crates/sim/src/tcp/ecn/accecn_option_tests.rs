use super::*;
use proptest::prelude::*;

const MS: Duration = Duration::from_millis(1);

fn counts(counts: [u32; COUNTERS]) -> ByteCounts {
    ByteCounts { counts, ..ByteCounts::START }
}

fn receiver(mode: AccEcnOption) -> ByteCounter {
    let params = TcpOptions { ecn: sojourn_spec::tcp::Ecn::L4s, accecn_option: mode, ..TcpOptions::default() };
    ByteCounter { received: true, ..*ByteCounter::new(&params).unwrap() }
}

/// Kind and length of the option that an ACK at this time carries.
/// The ACK has timestamps and no SACK blocks.
fn sent(receiver: &mut ByteCounter, ms: u64) -> Option<(u8, u32)> {
    let option = receiver.on_ack(Time::ZERO + MS * ms, false, 0).option?;
    Some((option.kind(), BASE + PER_FIELD * option.fields().count() as u32))
}

/// The example of rfc9768#A.1.
#[test]
fn a_field_that_has_gone_round_is_read_as_the_least_step_ahead() {
    let mut reader = ByteReader { counts: [1, 33_554_433, 1], before_first: None, estimate: Some(CE) };
    assert_eq!(reader.read(Some(&counts([1, 1461, 1])), 1460), Some(1460));
    assert_eq!(reader.counts[CE], 33_555_893);
}

#[test]
fn an_ack_without_an_option_counts_in_the_counter_that_changed_alone_until_an_option_corrects_it() {
    let mut reader = ByteReader::NEW;
    assert_eq!(reader.read(None, 1000), None);
    assert_eq!(reader.read(Some(&counts([1, 0, 1001])), 1000), None, "nothing was known before");
    assert_eq!(reader.read(Some(&counts([1, 2000, 1001])), 2000), Some(2000));
    assert_eq!(reader.read(None, 500), Some(500));
    // The bytes were ECT(1): the estimate was too high by 500.
    assert_eq!(reader.read(Some(&counts([1, 2000, 1501])), 0), None);
    assert_eq!((reader.counts, reader.estimate), ([1, 2000, 1501], None));
}

/// A path that removes options for a while, as in Linux `tcp_accecn_process_option`.
#[test]
fn a_first_option_that_comes_when_counters_may_have_gone_round_is_not_read() {
    for (bytes, is_read) in [(LATEST_FIRST - 1, true), (LATEST_FIRST, false)] {
        let mut reader = ByteReader::NEW;
        assert_eq!(reader.read(None, bytes), None);
        assert_eq!(reader.read(Some(&counts([1, 3000, 1])), 3000), None, "which counter changed was not known before");
        assert_eq!(reader.read(Some(&counts([1, 4000, 1])), 1000), is_read.then_some(1000), "{bytes}");
    }
}

/// The examples of rfc9768#3.2.3.3, and those for ECT(1).
#[test]
fn the_recommended_scheme_sends_the_fields_that_ever_changed_in_the_shorter_order() {
    for (ecns, kind, length) in [
        (&[Ecn::Ect0][..], 172, 5),
        (&[Ecn::Ect0, Ecn::Ce], 172, 8),
        (&[Ecn::Ect1], 174, 5),
        (&[Ecn::Ce, Ecn::Ect1], 174, 8),
        (&[Ecn::Ect0, Ecn::Ce, Ecn::Ect1], 172, 11),
    ] {
        let mut receiver = receiver(AccEcnOption::Recommended);
        ecns.iter().for_each(|&ecn| receiver.on_packet(Time::ZERO, ecn, 1000));
        assert_eq!(sent(&mut receiver, 1), Some((kind, length)), "{ecns:?}");
        assert_eq!(sent(&mut receiver, 2), None, "no counter has changed since");
    }
}

#[test]
fn at_the_minimum_two_acks_after_a_change_have_it_and_three_a_round_trip() {
    let mut receiver = receiver(AccEcnOption::Minimum);
    receiver.on_ack(Time::ZERO, true, 0);
    receiver.on_packet(Time::ZERO + MS * 30, Ecn::NotEct, 0);
    receiver.on_packet(Time::ZERO, Ecn::Ect1, 1000);
    assert_eq!([30, 31, 32].map(|ms| sent(&mut receiver, ms).is_some()), [true, true, false]);
    receiver.on_packet(Time::ZERO, Ecn::Ect1, 1000);
    assert_eq!(
        [40, 41, 50, 51].map(|ms| sent(&mut receiver, ms).is_some()),
        [false, true, false, true],
        "10 ms are a third of a round trip"
    );
    receiver.on_packet(Time::ZERO, Ecn::Ce, 1000);
    assert_eq!([52, 53, 54].map(|ms| sent(&mut receiver, ms).is_some()), [true, true, false]);
    // An option is due after 2^22 bytes, whatever the time.
    receiver.on_packet(Time::ZERO, Ecn::Ect1, 1000);
    assert_eq!([55, 56, 57].map(|ms| sent(&mut receiver, ms).is_some()), [true, true, false]);
    receiver.on_packet(Time::ZERO, Ecn::Ect1, 1 << 22);
    assert_eq!([58, 59].map(|ms| sent(&mut receiver, ms).is_some()), [true, false]);
}

/// The values that Linux's `tcp_options_fit_accecn` computes.
#[test]
fn sack_blocks_and_the_option_share_forty_bytes() {
    let fit = |needed, blocks, timestamps| Fit::new(3, needed, blocks, timestamps).map(|fit| (fit.fields, fit.blocks, fit.bytes));
    assert_eq!(fit(3, 0, true), Some((3, 0, 12)));
    assert_eq!(fit(3, 1, true), Some((3, 1, 12)));
    // Two blocks leave 8 B: room for two fields, and never for the third.
    assert_eq!([0, 1, 2, 3].map(|needed| fit(needed, 2, true)), [Some((2, 2, 8)), Some((2, 2, 8)), Some((2, 2, 8)), None]);
    // Three blocks leave only the padding of the SACK option; a field that is needed replaces the third block.
    assert_eq!(fit(0, 3, true), Some((0, 3, 0)));
    assert_eq!(fit(2, 3, true), Some((2, 2, 8)));
    assert_eq!(fit(3, 3, true), None);
    assert_eq!(fit(3, 3, false), Some((3, 3, 12)));
    // Alone the option is padded; beside SACK blocks an option of one field may use the padding.
    assert_eq!(Fit::new(1, 1, 0, true).map(|fit| fit.bytes), Some(8));
    assert_eq!(Fit::new(1, 1, 1, true).map(|fit| fit.bytes), Some(4));
}

proptest! {
    #[test]
    fn with_the_option_on_each_ack_the_sender_knows_each_counter(
        segments in prop::collection::vec((0..4usize, 0..70_000u32, any::<bool>()), 1..200),
    ) {
        let (mut receiver, mut reader) = (receiver(AccEcnOption::Full), ByteReader::NEW);
        for (ecn, bytes, lost) in segments {
            receiver.on_packet(Time::ZERO, Ecn::ALL[ecn], bytes);
            let option = receiver.on_ack(Time::ZERO, false, 0).option.unwrap();
            if !lost {
                reader.read(Some(&option), bytes);
                prop_assert_eq!(reader.counts, receiver.counts);
            }
        }
    }
}
