//! Creates the record of a finished run.

use crate::recorder::Recorder;
use crate::series::{Series, series};
use sojourn_link::Place;
use sojourn_net::{ImpairmentStats, Link as Measured, LinkImpairment, Packet, SubqueueStats};
use sojourn_scenario::plan::Plan;
use sojourn_scenario::record::{Audit, Class, ClassDropped, Completion, Distribution, Dropped, Flow, Group};
use sojourn_scenario::record::{Impairment, Level, Link, Record, Spread, Total, Wait};
use sojourn_sim::{Audit as Counted, Completion as Completed, FlowReport, LinkStats, Quantiles, Sums, TimeWeighted, World};
use sojourn_spec::link::Link as Planned;
use sojourn_spec::queue::Queue;

/// The share of RTT samples that count for responsiveness; the largest are trimmed.
/// Source: draft-ietf-ippm-responsiveness.
const TRIMMED: f64 = 0.95;

// The quantile error that the record documents must be that of the histogram.
const _: () = assert!(Quantiles::ERROR.to_bits() == sojourn_scenario::record::QUANTILE_ERROR.to_bits());

/// The measurements of a finished run on any host.
pub(crate) struct Finished<'a, P> {
    /// The links of the scenario in order, then other links.
    pub links: &'a [Measured<P>],
    /// The impairments of all links.
    pub impairments: &'a [LinkImpairment],
    /// Every flow, and every connection of a session.
    pub flows: Vec<FlowReport>,
    /// The round-trip times of each group that has samples.
    pub rtts: Vec<Option<&'a Quantiles>>,
    /// The transfers that completed in the window.
    pub completions: &'a [Completed],
    /// The traces of flows.
    pub recorder: &'a Recorder,
    /// The fingerprint: a sum over delivered packets.
    pub fingerprint: u64,
    /// The fate of every packet.
    pub audit: Counted,
}

impl<'a> Finished<'a, sojourn_sim::Packet> {
    /// The measurements of a world.
    pub fn world(plan: &Plan, world: &'a World<Recorder>, audit: Counted) -> Self {
        Finished {
            links: world.links(),
            impairments: world.impairments(),
            flows: world.flows().collect(),
            rtts: (0..plan.groups.len() as u32).map(|group| world.rtts(group)).collect(),
            completions: world.completions(),
            recorder: world.observer(),
            fingerprint: world.fingerprint(),
            audit,
        }
    }
}

/// The record of a finished run and its series.
pub(crate) fn report<P: Packet>(plan: &Plan, run: &Finished<'_, P>) -> (Record, Series) {
    let span = plan.duration.since(plan.warmup).as_secs_f64();
    let links: Vec<Link> = (0..run.links.len()).zip(&plan.links).map(|(at, link)| one_link(run, link, at, span)).collect();
    let flows = all_flows(plan, &run.flows, span);
    let groups = (0..plan.groups.len()).map(|index| one_group(plan, run, &flows, index)).collect();
    let sum = |value: fn(&Flow) -> f64| flows.iter().map(value).sum();
    let total = Total {
        goodput_bps: sum(|flow| flow.goodput_bps),
        throughput_bps: sum(|flow| flow.throughput_bps),
        jain: jain(flows.iter().map(|flow| flow.goodput_bps)),
        dropped: flows.iter().map(|flow| flow.dropped).sum(),
        marked: links.iter().map(|link| link.marked).sum(),
    };
    let record = Record {
        scenario: plan.name.clone(),
        seed: plan.seed,
        // Division yields 30 for 30 s instead of 30.000000000000004.
        duration_s: plan.duration.as_nanos() as f64 / 1e9,
        warmup_s: plan.warmup.as_nanos() as f64 / 1e9,
        fingerprint: format!("{:016x}", run.fingerprint),
        host: None,
        links,
        flows,
        groups,
        total,
        audit: Audit {
            sent: run.audit.sent,
            duplicated: run.audit.duplicated,
            delivered: run.audit.delivered,
            dropped: run.audit.dropped,
            in_flight: run.audit.in_flight,
        },
        series: Default::default(),
    };
    (record, series(plan, run.links, run.recorder))
}

fn level(weighted: &TimeWeighted) -> Level {
    Level { mean: weighted.mean(), sd: weighted.sd(), max: weighted.max() as f64 }
}

fn one_link<P: Packet>(run: &Finished<'_, P>, planned: &Planned, at: usize, span: f64) -> Link {
    let link = &run.links[at];
    let stats = link.stats();
    let counters = &stats.counters;
    let queued = link.rate().is_some();
    let impairments: Vec<Impairment> = run.impairments.iter().filter(|each| each.link() == at).map(impairment).collect();
    let first = impairments.iter().find(|impairment| impairment.place == Place::BeforeQueue);
    let arrived = first.map_or(counters.arrived, |impairment| impairment.met);
    let impaired = impairments.iter().map(|impairment| impairment.dropped).sum();
    let dropped = Dropped {
        early: counters.dropped_early,
        forced: counters.dropped_forced,
        tail: counters.dropped_tail,
        ack_filter: link.filters_acks().then_some(counters.dropped_acks),
        impaired: (!impairments.is_empty()).then_some(impaired),
    };
    let dropped_total = counters.dropped() + impaired;
    let parts = planned.queue.as_ref().map(|queue| subqueues(&mut stats.subqueues.iter(), queue, span)).unwrap_or_default();
    let has_classes = planned.queue.as_ref().is_some_and(|queue| queue.classes.is_some());
    let (classes, queues) = if has_classes { (parts, Vec::new()) } else { (Vec::new(), parts) };
    Link {
        name: link.name().into(),
        rate_bps: link.first_rate().map(|rate| rate.as_bps()),
        trace_sha256: planned.trace.as_ref().map(|trace| trace.sha256.to_string()),
        utilization: queued.then(|| link.utilization()).flatten(),
        throughput_bps: if queued { stats.sent_bits() / span } else { counters.arrived_bytes as f64 * 8.0 / span },
        arrived,
        departed: if queued { stats.sent } else { counters.arrived },
        marked: counters.marked,
        dropped,
        dropped_total,
        loss_ratio: (arrived > 0).then(|| loss_ratio(stats, &impairments)),
        queue: level(&stats.queue.packets),
        queue_bytes: level(&stats.queue.bytes),
        wait_ms: wait(&stats.wait, &stats.waits),
        impairments,
        airtime: stats.turns.map(|turns| turns.airtime.as_secs_f64() / span),
        turns: stats.turns.map(|turns| turns.count),
        classes,
        queues,
        probability_mean: (stats.probability.count() > 0).then(|| stats.probability.mean()),
    }
}

fn wait(waits: &Sums, distribution: &Quantiles) -> Option<Wait> {
    (waits.count() > 0).then(|| {
        let max = waits.max() * 1e3;
        // The middle of the histogram's last bin may exceed the longest wait.
        let at = |q: f64| (distribution.at(q) * 1e-6).min(max);
        let (mean, sd) = (waits.mean() * 1e3, waits.sd() * 1e3);
        Wait { mean, sd, p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99), max }
    })
}

/// The results of each class and its queues, or of the queues of the discipline.
fn subqueues(measured: &mut core::slice::Iter<'_, SubqueueStats>, queue: &Queue, span: f64) -> Vec<Class> {
    let names = queue.first_subqueues();
    let mut parts: Vec<Class> = names.iter().zip(measured.by_ref()).map(|(name, did)| one_class(did, name, span)).collect();
    for (part, class) in parts.iter_mut().zip(queue.classes.iter().flat_map(|scheduler| &scheduler.classes)) {
        part.queues = subqueues(measured, &class.queue, span);
    }
    parts
}

fn one_class(stats: &SubqueueStats, name: &str, span: f64) -> Class {
    let counters = &stats.counters;
    Class {
        name: name.into(),
        throughput_bps: stats.sent_bytes as f64 * 8.0 / span,
        arrived: stats.counters.arrived,
        departed: stats.sent,
        marked: stats.counters.marked,
        dropped: ClassDropped {
            early: counters.dropped_early,
            forced: counters.dropped_forced,
            tail: counters.dropped_tail,
            ack_filter: stats.filters_acks.then_some(counters.dropped_acks),
        },
        dropped_total: stats.counters.dropped(),
        queue: level(&stats.queue.packets),
        queue_bytes: level(&stats.queue.bytes),
        wait_ms: wait(&stats.wait, &stats.waits),
        queues: Vec::new(),
    }
}

fn impairment(impairment: &LinkImpairment) -> Impairment {
    let ImpairmentStats { met, dropped, corrupted, duplicated, delayed, stripped } = *impairment.stats();
    let (kind, stripped) = (impairment.name().into(), impairment.strips().then_some(stripped));
    Impairment { kind, place: impairment.place(), met, dropped, corrupted, duplicated, delayed, stripped }
}

/// The loss ratio of the link, as one minus a product of pass ratios.
/// The factors are those of its queue and its impairments in the window. A packet may pass one before the window and the next within it, so
/// counts can't be used.
fn loss_ratio(queue: &LinkStats, impairments: &[Impairment]) -> f64 {
    let at_queue = (queue.counters.dropped() - queue.drops_of_earlier, queue.counters.arrived);
    let stages = impairments.iter().map(|impairment| (impairment.dropped, impairment.met)).chain([at_queue]);
    let lost: Vec<f64> = stages.filter(|&(dropped, _)| dropped > 0).map(|(dropped, of)| dropped as f64 / of as f64).collect();
    if let [lost] = lost[..] { lost } else { 1.0 - lost.iter().map(|lost| 1.0 - lost).product::<f64>() }
}

/// The plan's flows in order. The measures of a session are sums over its connections.
fn all_flows(plan: &Plan, reports: &[FlowReport], span: f64) -> Vec<Flow> {
    // Flows are in the order of the plan, followed by the connections of sessions.
    let mut ordered: Vec<&FlowReport> = reports.iter().collect();
    ordered.sort_by_key(|report| report.entry);
    let mut rest = &ordered[..];
    let flows = (0u32..).zip(&plan.flows).map(|(entry, flow)| {
        let (parts, others) = rest.split_at(rest.iter().take_while(|report| report.entry == entry).count());
        rest = others;
        let count = |value: fn(&FlowReport) -> u64| parts.iter().map(|part| value(part)).sum::<u64>();
        let rtts: Vec<_> = parts.iter().map(|part| part.sender.rtt).filter(|rtt| rtt.count() > 0).collect();
        let samples: f64 = rtts.iter().map(|rtt| rtt.count() as f64).sum();
        let mean = rtts.iter().map(|rtt| rtt.mean() * rtt.count() as f64).sum::<f64>() / samples;
        let square = rtts.iter().map(|rtt| (rtt.sd().powi(2) + rtt.mean().powi(2)) * rtt.count() as f64).sum::<f64>() / samples;
        Flow {
            name: flow.name.clone(),
            group: plan.groups[flow.group as usize].name.clone(),
            throughput_bps: count(|part| part.stats.received) as f64 * 8.0 / span,
            goodput_bps: count(|part| part.stats.delivered) as f64 * 8.0 / span,
            sent: count(|part| part.sender.sent),
            retransmitted: count(|part| part.sender.retransmitted),
            dropped: count(|part| part.dropped),
            marked: count(|part| part.stats.marked),
            timeouts: count(|part| part.sender.timeouts.into()),
            fast_retransmits: count(|part| part.sender.fast_retransmits.into()),
            rtt_ms: (samples > 0.0).then(|| Spread {
                mean: mean * 1e3,
                sd: (square - mean * mean).max(0.0).sqrt() * 1e3,
                min: rtts.iter().map(|rtt| rtt.min()).fold(f64::INFINITY, f64::min) * 1e3,
                max: rtts.iter().map(|rtt| rtt.max()).fold(0.0, f64::max) * 1e3,
            }),
            completed: count(|part| part.completed),
            delay_source: parts.iter().find_map(|part| part.delay_source),
        }
    });
    flows.collect()
}

fn one_group<P>(plan: &Plan, run: &Finished<'_, P>, flows: &[Flow], index: usize) -> Group {
    let group = &plan.groups[index];
    let own = &flows[group.flows.start as usize..group.flows.end as usize];
    let samples: Vec<Spread> = own.iter().filter_map(|flow| flow.rtt_ms).collect();
    let mean = samples.iter().map(|rtt| rtt.mean).sum::<f64>() / samples.len() as f64;
    let square = samples.iter().map(|rtt| rtt.sd.powi(2) + rtt.mean.powi(2)).sum::<f64>() / samples.len() as f64;
    let (least, most) = samples.iter().fold((f64::INFINITY, 0.0f64), |(least, most), rtt| (least.min(rtt.min), most.max(rtt.max)));
    let rtts = run.rtts[index].filter(|_| !samples.is_empty());
    let rtt_ms = rtts.map(|rtts| {
        // The middle of a histogram bin may be outside the range of samples.
        let at = |q: f64| (rtts.at(q) * 1e-6).clamp(least, most);
        let sd = (square - mean * mean).max(0.0).sqrt();
        let p99 = at(0.99);
        Distribution { mean, sd, p50: at(0.5), p90: at(0.9), p95: at(0.95), p99, min: least, jitter: p99 - least }
    });
    Group {
        name: group.name.clone(),
        flows: group.flows.len() as u32,
        throughput_bps: own.iter().map(|flow| flow.throughput_bps).sum(),
        goodput_bps: own.iter().map(|flow| flow.goodput_bps).sum(),
        jain: jain(own.iter().map(|flow| flow.goodput_bps)),
        rtt_ms,
        responsiveness_rpm: rtts.map(|rtts| 60e3 / (rtts.mean_below(TRIMMED) * 1e-6).clamp(least, most)),
        completion_s: completions(run.completions, index as u32),
    }
}

fn completions(completed: &[Completed], group: u32) -> Option<Completion> {
    let mut times: Vec<f64> =
        completed.iter().filter(|done| done.group == group).map(|done| done.closed.since(done.opened).as_secs_f64()).collect();
    times.sort_by(f64::total_cmp);
    let at = |q: f64| times[((q * times.len() as f64).ceil() as usize).clamp(1, times.len()) - 1];
    (!times.is_empty()).then(|| Completion {
        count: times.len() as u64,
        mean: times.iter().sum::<f64>() / times.len() as f64,
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
    })
}

/// Jain's index of fairness (jain-1984): 1 if all are equal, 1/n if one of n has everything.
fn jain(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let (n, sum, squares) = values.fold((0.0, 0.0, 0.0), |(n, sum, squares), x| (n + 1.0, sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (n * squares))
}
