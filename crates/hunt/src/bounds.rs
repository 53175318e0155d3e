//! What is true of every record, whatever was simulated.

use sojourn_scenario::plan::{Flow as Planned, Plan};
use sojourn_scenario::record::{Flow, Group, Link, Record};

/// What rounding may change, as a part of the value: sums of floats.
const ROUNDING: f64 = 1e-9;

/// What a record breaks, one line each.
pub fn broken(plan: &Plan, record: &Record) -> Vec<String> {
    let mut found = Found(Vec::new());
    let span = record.duration_s - record.warmup_s;
    for (number, link) in record.links.iter().enumerate() {
        one_link(&mut found, link, span, plan.links[number].rate_changes.iter().map(|change| change.rate.as_bps()).max());
        if record.warmup_s == 0.0 {
            found.at_most(&format!("{}: departed + dropped", link.name), accounted(link) as f64, link.arrived as f64);
        }
    }
    for (planned, flow) in plan.flows.iter().zip(&record.flows) {
        one_flow(&mut found, flow);
        if let Some((rate, largest)) = last_rate(plan, planned) {
            let most = rate as f64 + largest / span;
            found.at_most(&format!("{}: throughput_bps", flow.name), flow.throughput_bps, most);
        }
    }
    record.groups.iter().for_each(|group| one_group(&mut found, group, record));
    totals(&mut found, record);
    found.0
}

/// Packets of a link that left it: sent, or dropped before they were sent.
fn accounted(link: &Link) -> u64 {
    let dropped = link.dropped;
    link.departed + dropped.early + dropped.forced + dropped.tail
}

struct Found(Vec<String>);

impl Found {
    fn unless(&mut self, fine: bool, said: impl FnOnce() -> String) {
        if !fine {
            self.0.push(said());
        }
    }

    fn at_most(&mut self, what: &str, value: f64, most: f64) {
        self.unless(value <= most + ROUNDING * most.abs().max(1e-9), || format!("{what}: expected at most {most}, got {value}"));
    }

    /// A value that is zero or more and not infinite.
    fn counted(&mut self, what: &str, value: f64) {
        self.unless(value >= 0.0 && value.is_finite(), || format!("{what}: expected a number, zero or more, got {value}"));
    }

    fn part(&mut self, what: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.unless((0.0..=1.0 + ROUNDING).contains(&value), || format!("{what}: expected a number, 0 to 1, got {value}"));
        }
    }

    /// Values in order, the smallest first.
    fn ordered(&mut self, what: &str, values: &[f64]) {
        let fine = values.windows(2).all(|pair| pair[0] <= pair[1] + ROUNDING * pair[1].abs());
        self.unless(fine && values.iter().all(|value| *value >= 0.0), || format!("{what}: expected numbers in order, got {values:?}"));
    }
}

fn one_link(found: &mut Found, link: &Link, span: f64, later_rate: Option<u64>) {
    let name = |measure: &str| format!("{}: {measure}", link.name);
    found.part(&name("utilization"), link.utilization);
    found.part(&name("loss_ratio"), link.loss_ratio);
    found.part(&name("probability_mean"), link.probability_mean);
    let dropped = link.dropped;
    let causes = dropped.early + dropped.forced + dropped.tail + dropped.impaired.unwrap_or(0);
    found.unless(causes == link.dropped_total, || name(&format!("dropped_total: expected {causes}, got {}", link.dropped_total)));
    if let Some(rate) = link.rate_bps {
        // The packet that was being sent when the window opened counts as a whole.
        let most = rate.max(later_rate.unwrap_or(0)) as f64 + LARGEST_PACKET_BITS / span;
        found.at_most(&name("throughput_bps"), link.throughput_bps, most);
    }
    for (level, what) in [(&link.queue, "queue"), (&link.queue_bytes, "queue_bytes")] {
        found.ordered(&name(what), &[level.mean, level.max]);
        found.counted(&name(what), level.sd);
        found.at_most(&name(&format!("{what}.sd")), level.sd, level.max);
    }
    if let Some(wait) = &link.wait_ms {
        found.ordered(&name("wait_ms"), &[wait.p50, wait.p90, wait.p95, wait.p99, wait.max]);
        found.ordered(&name("wait_ms.mean"), &[wait.mean, wait.max]);
        found.at_most(&name("wait_ms.sd"), wait.sd, wait.max);
    }
}

/// The largest packet that an IP header can express.
const LARGEST_PACKET_BITS: f64 = 65_535.0 * 8.0;

/// The rate of the last link with a rate on the flow's path and the bits of the largest packet. `None` if there is none, or if
/// packets that left it earlier may be delivered in the window in addition: where a delay changes after it.
fn last_rate(plan: &Plan, flow: &Planned) -> Option<(u64, f64)> {
    let mut links = flow.forward.iter().rev().map(|&link| &plan.links[link as usize]);
    let last = links.by_ref().find(|link| link.rate.is_some() || !link.delay_changes.is_empty())?;
    let rates = last.rate_changes.iter().map(|change| change.rate.as_bps()).chain(last.rate.map(|rate| rate.as_bps()));
    last.delay_changes.is_empty().then(|| rates.max().map(|rate| (rate, LARGEST_PACKET_BITS)))?
}

fn one_flow(found: &mut Found, flow: &Flow) {
    let name = |measure: &str| format!("{}: {measure}", flow.name);
    found.counted(&name("goodput_bps"), flow.goodput_bps);
    found.at_most(&name("goodput_bps"), flow.goodput_bps, flow.throughput_bps);
    found.at_most(&name("retransmitted"), flow.retransmitted as f64, flow.sent as f64);
    if let Some(rtt) = &flow.rtt_ms {
        found.ordered(&name("rtt_ms"), &[rtt.min, rtt.mean, rtt.max]);
        // A deviation is the root of a difference of squares: half of the digits are left.
        found.at_most(&name("rtt_ms.sd"), rtt.sd, rtt.max - rtt.min + ROUNDING.sqrt() * rtt.max);
    }
}

fn one_group(found: &mut Found, group: &Group, record: &Record) {
    let name = |measure: &str| format!("{}: {measure}", group.name);
    let own: Vec<&Flow> = record.flows.iter().filter(|flow| flow.group == group.name).collect();
    found.unless(own.len() == group.flows as usize, || name("flows: another number than the record has"));
    found.at_most(&name("goodput_bps"), group.goodput_bps, group.throughput_bps);
    jain(found, &name("jain"), group.jain, own.len());
    if let Some(rtt) = &group.rtt_ms {
        let longest = own.iter().filter_map(|flow| flow.rtt_ms).map(|rtt| rtt.max).fold(0.0, f64::max);
        found.ordered(&name("rtt_ms"), &[rtt.p50, rtt.p90, rtt.p99, longest]);
        found.ordered(&name("rtt_ms.mean"), &[rtt.mean, longest]);
    }
    if let Some(done) = &group.completion_s {
        found.ordered(&name("completion_s"), &[done.p50, done.p90, done.p99]);
        found.counted(&name("completion_s.mean"), done.mean);
        let completed: u64 = own.iter().map(|flow| flow.completed).sum();
        found.unless(done.count == completed, || name(&format!("completion_s.count: expected {completed}, got {}", done.count)));
    }
}

/// Jain's index is 1/n to 1 (jain-1984).
fn jain(found: &mut Found, what: &str, index: Option<f64>, n: usize) {
    if let Some(index) = index {
        found.part(what, Some(index));
        found.at_most(&format!("{what}: 1/n"), 1.0 / n as f64, index);
    }
}

fn totals(found: &mut Found, record: &Record) {
    let (total, audit) = (&record.total, record.audit);
    found.at_most("total: goodput_bps", total.goodput_bps, total.throughput_bps);
    jain(found, "total: jain", total.jain, record.flows.len());
    found.unless(audit.balances(), || format!("audit: {audit:?} does not balance"));
    let at_links: u64 = record.links.iter().map(|link| link.dropped_total).sum();
    found.at_most("total: dropped at the links", at_links as f64, total.dropped as f64);
    found.at_most("total: dropped", total.dropped as f64, audit.dropped as f64);
    if record.warmup_s == 0.0 {
        found.unless(total.dropped == audit.dropped, || format!("total.dropped: expected {}, got {}", audit.dropped, total.dropped));
    }
}
