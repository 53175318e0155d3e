//! Invariants that every record satisfies.

use sojourn_lab::Outcome;
use sojourn_link::trace::Service;
use sojourn_scenario::plan::{Flow as Planned, Plan};
use sojourn_scenario::record::{Class, Dropped, Flow, Group, Link, Record, Wait};
use sojourn_scenario::series::LINK_THROUGHPUT;

/// Relative rounding error of sums of floats.
const ROUNDING: f64 = 1e-9;

/// The invariants that a record and its series violate, one line each.
pub fn broken(plan: &Plan, outcome: &Outcome) -> Vec<String> {
    let (record, mut found) = (&outcome.record, Violations(Vec::new()));
    let span = plan.duration.since(plan.warmup).as_secs_f64();
    for (number, link) in record.links.iter().enumerate() {
        one_link(&mut found, link);
        if let Some(rate) = highest_rate(plan, number as u32) {
            let traced = outcome.series.get(&LINK_THROUGHPUT.name(&link.name)).into_iter().flat_map(|steps| &steps["bps"]);
            traced.chain([&link.throughput_bps]).for_each(|&bps| found.at_most(&format!("{}: throughput_bps", link.name), bps, rate));
        }
        if record.warmup_s == 0.0 {
            let copies: u64 = link.impairments.iter().map(|impairment| impairment.duplicated).sum();
            found.at_most(&format!("{}: departed + dropped", link.name), accounted(link) as f64, (link.arrived + copies) as f64);
        }
    }
    for (planned, flow) in plan.flows.iter().zip(&record.flows) {
        one_flow(&mut found, flow);
        if let Some(most) = most_received(plan, planned, span) {
            found.at_most(&format!("{}: throughput_bps", flow.name), flow.throughput_bps, most);
        }
    }
    record.groups.iter().for_each(|group| one_group(&mut found, group, record));
    totals(&mut found, record);
    found.0
}

/// The number of packets that left a link: sent, or dropped before transmission.
fn accounted(link: &Link) -> u64 {
    let dropped = link.dropped;
    link.departed + dropped.early + dropped.forced + dropped.tail + dropped.ack_filter.unwrap_or(0)
}

struct Violations(Vec<String>);

impl Violations {
    fn unless(&mut self, fine: bool, said: impl FnOnce() -> String) {
        if !fine {
            self.0.push(said());
        }
    }

    fn at_most(&mut self, what: &str, value: f64, most: f64) {
        self.unless(value <= most + ROUNDING * most.abs().max(1e-9), || format!("{what}: expected at most {most}, got {value}"));
    }

    /// Checks that a value is finite and zero or more.
    fn counted(&mut self, what: &str, value: f64) {
        self.unless(value >= 0.0 && value.is_finite(), || format!("{what}: expected a number, zero or more, got {value}"));
    }

    fn part(&mut self, what: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.unless((0.0..=1.0 + ROUNDING).contains(&value), || format!("{what}: expected a number, 0 to 1, got {value}"));
        }
    }

    /// Checks that values are in ascending order.
    fn ordered(&mut self, what: &str, values: &[f64]) {
        let fine = values.windows(2).all(|pair| pair[0] <= pair[1] + ROUNDING * pair[1].abs());
        self.unless(fine && values.iter().all(|value| *value >= 0.0), || format!("{what}: expected numbers in order, got {values:?}"));
    }
}

/// The highest rate of a link in bit/s.
/// `None` for a pure delay, and for a trace of opportunities to send.
fn highest_rate(plan: &Plan, link: u32) -> Option<f64> {
    let link = plan.link(link);
    if let Some(trace) = &link.trace {
        let rates = trace.rows.service() == Service::Rates;
        return rates.then(|| trace.rows.rows().map(|row| row.service as f64).fold(0.0, f64::max));
    }
    let rates = link.rate.into_iter().chain(link.rate_changes.iter().map(|change| change.rate));
    rates.map(|rate| rate.as_bps() as f64).reduce(f64::max)
}

fn one_link(found: &mut Violations, link: &Link) {
    let name = |measure: &str| format!("{}: {measure}", link.name);
    found.part(&name("utilization"), link.utilization);
    found.part(&name("loss_ratio"), link.loss_ratio);
    found.part(&name("probability_mean"), link.probability_mean);
    let dropped = link.dropped;
    let causes = dropped.early + dropped.forced + dropped.tail + dropped.ack_filter.unwrap_or(0) + dropped.impaired.unwrap_or(0);
    found.unless(causes == link.dropped_total, || name(&format!("dropped_total: expected {causes}, got {}", link.dropped_total)));
    for (level, what) in [(&link.queue, "queue"), (&link.queue_bytes, "queue_bytes")] {
        found.ordered(&name(what), &[level.mean, level.max]);
        found.counted(&name(what), level.sd);
        found.at_most(&name(&format!("{what}.sd")), level.sd, level.max);
    }
    waits(found, link.wait_ms.as_ref(), &name(""));
    let Dropped { early, forced, tail, ack_filter, .. } = link.dropped;
    let whole = Whole {
        name: &link.name,
        counts: [link.departed, link.marked, early, forced, tail, ack_filter.unwrap_or(0)],
        most: link.queue.max,
    };
    parts(found, &whole, &link.classes);
    parts(found, &whole, &link.queues);
}

/// A link or a class with several queues.
struct Whole<'a> {
    name: &'a str,
    /// The numbers of packets sent, marked, and dropped by cause.
    counts: [u64; 6],
    /// The maximum backlog in packets.
    most: f64,
}

/// Checks that the counts of the parts add up to those of the whole.
/// The parts are the classes of a link, or the two queues of a link or class.
fn parts(found: &mut Violations, whole: &Whole, parts: &[Class]) {
    let counts = |part: &Class| {
        let dropped = part.dropped;
        [part.departed, part.marked, dropped.early, dropped.forced, dropped.tail, dropped.ack_filter.unwrap_or(0)]
    };
    let sums = parts.iter().fold([0; 6], |mut sums, part| {
        sums.iter_mut().zip(counts(part)).for_each(|(sum, of_part)| *sum += of_part);
        sums
    });
    found.unless(parts.is_empty() || sums == whole.counts, || format!("{}: parts: expected {:?}, got {sums:?}", whole.name, whole.counts));
    for part in parts {
        let name = format!("{}: {}", whole.name, part.name);
        found.counted(&format!("{name}: throughput_bps"), part.throughput_bps);
        waits(found, part.wait_ms.as_ref(), &format!("{name}: "));
        found.ordered(&format!("{name}: queue"), &[part.queue.mean, part.queue.max, whole.most]);
        self::parts(found, &Whole { name: &name, counts: counts(part), most: part.queue.max }, &part.queues);
    }
}

fn waits(found: &mut Violations, wait: Option<&Wait>, of: &str) {
    if let Some(wait) = wait {
        found.ordered(&format!("{of}wait_ms"), &[wait.p50, wait.p90, wait.p95, wait.p99, wait.max]);
        found.ordered(&format!("{of}wait_ms.mean"), &[wait.mean, wait.max]);
        found.at_most(&format!("{of}wait_ms.sd"), wait.sd, wait.max);
    }
}

/// Upper bound of the bit/s that arrive at the hosts of a flow in `span` seconds.
/// It is the path's rate plus one packet, because the first packet may have been sent before the window. A session receives data at one end
/// and requests at the other.
fn most_received(plan: &Plan, flow: &Planned, span: f64) -> Option<f64> {
    let largest = match plan.tcp(flow) {
        Some(tcp) => f64::from(tcp.mss + tcp.header),
        None => flow.traffic.largest_packet()?.0 as f64,
    };
    let most = |path: &[u32]| last_rate(plan, path).map(|rate| rate + 8.0 * largest / span);
    let all = |first: &[u32], choice: Option<&Vec<Vec<u32>>>| match choice {
        Some(choice) if choice.len() > 1 => choice.iter().map(|path| most(path)).sum(),
        _ => most(first),
    };
    let chosen = flow.paths.as_ref().filter(|paths| !paths.drawn);
    let data = all(&flow.forward, chosen.map(|paths| &paths.forward))?;
    let requests = || all(&flow.back, chosen.map(|paths| &paths.back));
    if flow.traffic.opens_connections() { Some(data + requests()?) } else { Some(data) }
}

/// The rate in bit/s of the last link with a rate on a path.
/// `None` without one, or if packets that left the link at different times may arrive simultaneously, or with copies. That is so if a delay
/// changes after the link, or if packets meet impairments.
fn last_rate(plan: &Plan, path: &[u32]) -> Option<f64> {
    let varies = |link: u32| {
        let link = plan.link(link);
        !link.delay_changes.is_empty() || !link.impairments.is_empty() || link.trace.is_some()
    };
    let last = *path.iter().rev().find(|&&link| plan.link(link).rate.is_some() || varies(link))?;
    if varies(last) { None } else { highest_rate(plan, last) }
}

fn one_flow(found: &mut Violations, flow: &Flow) {
    let name = |measure: &str| format!("{}: {measure}", flow.name);
    found.counted(&name("goodput_bps"), flow.goodput_bps);
    found.at_most(&name("goodput_bps"), flow.goodput_bps, flow.throughput_bps);
    found.at_most(&name("retransmitted"), flow.retransmitted as f64, flow.sent as f64);
    if let Some(rtt) = &flow.rtt_ms {
        found.ordered(&name("rtt_ms"), &[rtt.min, rtt.mean, rtt.max]);
        // The deviation is the root of a difference of squares, so half of the digits are lost.
        found.at_most(&name("rtt_ms.sd"), rtt.sd, rtt.max - rtt.min + ROUNDING.sqrt() * rtt.max);
    }
}

fn one_group(found: &mut Violations, group: &Group, record: &Record) {
    let name = |measure: &str| format!("{}: {measure}", group.name);
    let own: Vec<&Flow> = record.flows.iter().filter(|flow| flow.group == group.name).collect();
    found.unless(own.len() == group.flows as usize, || name("flows: another number than the record has"));
    found.at_most(&name("goodput_bps"), group.goodput_bps, group.throughput_bps);
    jain(found, &name("jain"), group.jain, own.len());
    if let Some(rtt) = &group.rtt_ms {
        let longest = own.iter().filter_map(|flow| flow.rtt_ms).map(|rtt| rtt.max).fold(0.0, f64::max);
        found.ordered(&name("rtt_ms"), &[rtt.min, rtt.p50, rtt.p90, rtt.p95, rtt.p99, longest]);
        found.ordered(&name("rtt_ms.mean"), &[rtt.mean, longest]);
    }
    if let Some(done) = &group.completion_s {
        found.ordered(&name("completion_s"), &[done.p50, done.p90, done.p99]);
        found.counted(&name("completion_s.mean"), done.mean);
        let completed: u64 = own.iter().map(|flow| flow.completed).sum();
        found.unless(done.count == completed, || name(&format!("completion_s.count: expected {completed}, got {}", done.count)));
    }
}

/// Checks that Jain's index is 1/n to 1 (jain-1984).
fn jain(found: &mut Violations, what: &str, index: Option<f64>, n: usize) {
    if let Some(index) = index {
        found.part(what, Some(index));
        found.at_most(&format!("{what}: 1/n"), 1.0 / n as f64, index);
    }
}

fn totals(found: &mut Violations, record: &Record) {
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
