use super::*;
use crate::sample::tests::SAMPLE;

#[test]
fn what_is_delivered_until_the_next_departure_is_not_in_flight_then() {
    let mut state = State::new(Params::default(), Start::new(10.0, f64::INFINITY));
    state.bw.update(BW_ROUNDS, 1, 1000.0);
    (state.pacing_gain, state.pacing_rate) = (1.0, 990.0);
    let at = |state: &State, micros| {
        let sample = RateSample { pacing_delay: Duration::from_micros(micros), ..SAMPLE };
        state.in_flight_at_departure(&sample, 20.0)
    };
    assert_eq!([0, 1_999, 2_000, 90_000].map(|micros| at(&state, micros)), [20.0, 19.0, 18.0, 0.0]);
    // Above the bandwidth, the next quantum is in flight too.
    state.pacing_gain = 1.25;
    assert_eq!(at(&state, 2_000), 18.0 + state.pacing().quantum());
}
