//! Every trace file is rejected in one line, or has rows that repeat.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_scenario::parse_trace;
use sojourn_scenario::written::TraceFormat;

const FORMATS: [TraceFormat; 3] = [TraceFormat::Mahimahi, TraceFormat::Csv, TraceFormat::NetemTrace];

// The first byte selects the format.
fuzz_target!(|bytes: &[u8]| {
    let Some((first, mut text)) = bytes.split_first() else { return };
    match parse_trace(&mut text, FORMATS[usize::from(*first) % FORMATS.len()]) {
        Err(error) => assert!(!error.problem.is_empty() && !error.to_string().contains('\n'), "{error:?}"),
        Ok(trace) => {
            let rows = &trace.rows;
            let spans = rows.rows().map(|row| u128::from(row.span.as_nanos())).sum::<u128>();
            assert_eq!(spans, u128::from(rows.period().as_nanos()));
            assert!(spans > 0 && rows.rows().any(|row| row.service > 0) && rows.mean_rate().as_bps() <= 10_000_000_000_000);
        }
    }
});
