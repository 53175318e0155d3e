//! Warnings about parameters of queues without effect, such as unreached thresholds.

use super::{Finding, QueueOf, Subject, full_packet, group_field, link_field};
use crate::check::Group;
use sojourn_aqm::AqmConfig;
use sojourn_spec::queue::Queue;
use sojourn_traffic::Traffic;
use sojourn_units::range::LARGEST_PACKET;
use sojourn_units::{Amount, Duration, Limit, Rate};

impl Subject<'_> {
    /// The findings of a rule about one queue: the key of a parameter, and what is wrong with it.
    fn of_queues(&self, rule: impl Fn(&QueueOf<'_>) -> Vec<(&'static str, String)>) -> Vec<Finding> {
        let found = |queue: QueueOf<'_>| rule(&queue).into_iter().map(move |(key, problem)| (format!("{}.{key}", queue.field), problem));
        self.queues().flat_map(found).collect()
    }
}

impl QueueOf<'_> {
    /// The successive rates of the link.
    ///
    /// Empty if a trace, a medium or an overhead also determines when packets depart.
    fn rates(&self) -> impl Iterator<Item = Rate> {
        let link = self.link;
        let plain = link.trace.is_none() && link.medium.is_none() && link.overhead.is_none();
        link.rate.into_iter().chain(link.rate_changes.iter().map(|change| change.rate)).filter(move |_| plain)
    }

    /// The longest time to send a full queue and the packet before it.
    ///
    /// `largest` is the size of the largest packet in bytes; with 0 the result is `None`.
    fn longest_wait(&self, largest: u64) -> Option<Duration> {
        let slowest = self.rates().min().filter(|_| largest > 0)?;
        let held = match self.queue.options.limit {
            Limit::Amount(Amount::Packets(packets)) => u64::from(packets) * largest,
            Limit::Amount(Amount::Bytes(bytes)) => bytes,
            Limit::Time(_) | Limit::Bdp(_) => return None,
        };
        Some(Duration::from_secs_f64(8.0 * (held + largest) as f64 / slowest.as_bps() as f64))
    }
}

/// The size of a group's largest packet in bytes.
///
/// It is the largest possible size if the traffic does not determine it.
fn largest_packet(group: &Group) -> u64 {
    match (&group.tcp, &group.traffic) {
        (Some(tcp), _) => full_packet(tcp),
        (None, Traffic::Cbr(params)) => params.size.0,
        (None, Traffic::Ping(params)) => params.size.0,
        (None, _) => LARGEST_PACKET,
    }
}

/// Queues on the route of flows with ECN that would mark with `ecn = true`.
///
/// Routes over droptail queues alone are not named: those never mark. A discipline of a Linux kernel decides by itself what it marks.
pub(super) fn ecn_without_marks(subject: &Subject<'_>) -> Vec<Finding> {
    let queues: Vec<QueueOf<'_>> = subject.queues().collect();
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for (group, _) in subject.stacks().filter(|(_, tcp)| tcp.ecn.is_on()) {
        let route: Vec<u32> = group.forward_links().collect();
        let on_route = || queues.iter().filter(|queue| route.contains(&queue.number));
        if on_route().any(|queue| marks(queue.queue)) {
            continue;
        }
        for queue in on_route().filter(|queue| !matches!(queue.queue.aqm, AqmConfig::DropTail(_))) {
            let field = format!("{}.queue.ecn", link_field(queue.link));
            let flows = group_field(group);
            match found.iter_mut().find(|(known, _)| *known == field) {
                Some((_, named)) if named.contains(&flows) => {}
                Some((_, named)) => named.push(flows),
                None => found.push((field, vec![flows])),
            }
        }
    }
    let said = |(field, flows): (String, Vec<String>)| {
        (field, format!("false drops packets of {} instead of marking them, although their senders use ECN", flows.join(", ")))
    };
    found.into_iter().map(said).collect()
}

/// Whether a queue may mark packets: `ce_threshold` needs no `ecn`.
fn marks(queue: &Queue) -> bool {
    let threshold = match &queue.aqm {
        AqmConfig::Linux(_) => return true,
        AqmConfig::Codel(params) => params.ce_threshold,
        AqmConfig::FqCodel(params) => params.ce_threshold,
        _ => Duration::ZERO,
    };
    queue.options.ecn || threshold > Duration::ZERO
}

/// Droptail queues with `ecn = true`, which never mark.
pub(super) fn marks_of_droptail(subject: &Subject<'_>) -> Vec<Finding> {
    subject.of_queues(|QueueOf { queue, .. }| match queue.aqm {
        AqmConfig::DropTail(_) if queue.options.ecn => vec![("ecn", "true has no effect, because droptail never marks".to_string())],
        _ => Vec::new(),
    })
}

/// Thresholds in packets above the queue's limit.
pub(super) fn thresholds_beyond_limits(subject: &Subject<'_>) -> Vec<Finding> {
    subject.of_queues(|QueueOf { queue, .. }| {
        let (key, threshold) = match &queue.aqm {
            AqmConfig::Red(red) if !red.bytes && !red.queue_in_bytes => ("min", red.min),
            AqmConfig::Pi(pi) if !pi.bytes && !pi.queue_in_bytes => ("target", pi.target),
            AqmConfig::Step(step) if step.bytes.0 == 0 && step.time == Duration::ZERO => ("packets", f64::from(step.packets)),
            _ => return Vec::new(),
        };
        match queue.options.limit {
            Limit::Amount(Amount::Packets(limit)) if threshold > f64::from(limit) => {
                vec![(key, format!("{threshold} packets exceed the queue's limit ({limit} packets)"))]
            }
            _ => Vec::new(),
        }
    })
}

/// Delay targets above the longest possible wait in a FIFO queue.
pub(super) fn targets_beyond_limits(subject: &Subject<'_>) -> Vec<Finding> {
    let largest = |queue: &QueueOf<'_>| {
        let crosses = |group: &&Group| group.forward_links().chain(group.back_links()).any(|at| at == queue.number);
        subject.checked.groups.iter().filter(crosses).map(largest_packet).max().unwrap_or(0)
    };
    subject.of_queues(|queue| {
        let target = match &queue.queue.aqm {
            AqmConfig::Codel(params) => Some(params.target),
            AqmConfig::Pie(params) => params.target,
            AqmConfig::Pi2(params) => Some(params.target),
            _ => return Vec::new(),
        };
        match (target, queue.longest_wait(largest(queue))) {
            (Some(target), Some(longest)) if target > longest => {
                let (limit, time) = (queue.queue.options.limit, rounded(longest));
                vec![("target", format!("{target} exceeds the longest possible wait: a full queue of {limit} is sent in {time}"))]
            }
            _ => Vec::new(),
        }
    })
}

/// A time with three digits.
fn rounded(time: Duration) -> Duration {
    let unit = 10u64.pow(time.as_nanos().max(1).ilog10().saturating_sub(2));
    Duration::from_nanos((time.as_nanos() + unit / 2) / unit * unit)
}

/// Targets of `CoDel` that are not below its interval.
pub(super) fn long_targets(subject: &Subject<'_>) -> Vec<Finding> {
    subject.of_queues(|QueueOf { queue, .. }| {
        let (target, interval) = match &queue.aqm {
            AqmConfig::Codel(params) => (params.target, params.interval),
            AqmConfig::FqCodel(params) => (params.target, params.interval),
            _ => return Vec::new(),
        };
        let long = target >= interval;
        let said = || ("target", format!("{target} is not below the interval ({interval}); it should be a small fraction of it"));
        long.then(said).into_iter().collect()
    })
}

/// Shapers of CAKE above the link's rate.
pub(super) fn shapers_above_rates(subject: &Subject<'_>) -> Vec<Finding> {
    subject.of_queues(|queue| {
        let AqmConfig::Cake(params) = &queue.queue.aqm else { return Vec::new() };
        match (params.bandwidth, queue.rates().next(), queue.rates().max()) {
            (Some(bandwidth), Some(first), Some(fastest)) if bandwidth > fastest => {
                vec![("bandwidth", format!("{bandwidth} is above the link's rate ({first}), so it has no effect"))]
            }
            _ => Vec::new(),
        }
    })
}

/// Selectors for a `ce_threshold` that is off.
pub(super) fn selectors_without_thresholds(subject: &Subject<'_>) -> Vec<Finding> {
    subject.of_queues(|QueueOf { queue, .. }| {
        let AqmConfig::FqCodel(params) = &queue.aqm else { return Vec::new() };
        let keys = [("ce_threshold_selector", params.ce_threshold_selector), ("ce_threshold_mask", params.ce_threshold_mask)];
        let without = keys.into_iter().filter(|(_, value)| params.ce_threshold == Duration::ZERO && *value != 0);
        without.map(|(key, value)| (key, format!("{value} has no effect without ce_threshold"))).collect()
    })
}

/// Step disciplines without a threshold.
pub(super) fn steps_without_thresholds(subject: &Subject<'_>) -> Vec<Finding> {
    subject.of_queues(|QueueOf { queue, .. }| match &queue.aqm {
        AqmConfig::Step(step) if step.packets == 0 && step.bytes.0 == 0 && step.time == Duration::ZERO => {
            vec![("packets", "packets, bytes and time are all 0, so no packet is signaled".to_string())]
        }
        _ => Vec::new(),
    })
}
