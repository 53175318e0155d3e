//! What a kernel's log reports of one sender.

use crate::Error;
use sojourn_linux::{ENTRY_BYTES, Entry, Logged};
use sojourn_scenario::plan::Plan;

/// A report of a sender in a kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderReport {
    /// The time in seconds.
    pub at: f64,
    /// `window`, `recovery` (it begins), `timeout` or `rtt`.
    pub kind: &'static str,
    /// For a window, cwnd and ssthresh in segments; for an RTT, seconds and 0.
    pub values: [f64; 2],
}

/// The reports of a flow's sender, in the order of the log.
///
/// # Errors
/// The plan has no such flow.
pub fn sender_reports(plan: &Plan, log: &[u8], flow: &str) -> Result<Vec<SenderReport>, Error> {
    let Some(number) = (0u32..).zip(&plan.flows).find_map(|(number, each)| (each.name == flow).then_some(number)) else {
        let names: Vec<_> = plan.flows.iter().map(|each| each.name.as_str()).collect();
        return Err(Error::Build(format!("flow: expected one of {}, got \"{flow}\"", names.join(", "))));
    };
    let entries = log.as_chunks::<ENTRY_BYTES>().0.iter().filter_map(Logged::from_bytes);
    let report = |logged: Logged| {
        let (kind, values) = match logged.entry {
            Entry::Window { cwnd, ssthresh, .. } => ("window", [f64::from(cwnd), f64::from(ssthresh)]),
            Entry::Recovery { .. } => ("recovery", [0.0; 2]),
            Entry::Timeout { .. } => ("timeout", [0.0; 2]),
            Entry::Rtt { rtt, .. } => ("rtt", [rtt.as_secs_f64(), 0.0]),
            _ => return None,
        };
        Some(SenderReport { at: logged.at.as_secs_f64(), kind, values })
    };
    Ok(entries.filter(|logged| logged.entry.flow() == Some(number)).filter_map(report).collect())
}
