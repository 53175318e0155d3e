//! The law of a queue or of a controller as a surface over two inputs.

use crate::flows::managed;
use crate::numbers::Numbers;
use serde_json::{Value, json};
use sojourn_aqm::{Aqm, AqmConfig, Backlog, Link, ParamError};
use sojourn_cc::CcConfig;
use sojourn_scenario::Checked;
use sojourn_scenario::check::Group;
use sojourn_units::{Probability, Time};

/// The number of rows and of columns of a surface.
const STEPS: usize = 49;

/// The probability of a law with a timer, with a row per backlog.
/// A column is a change since the timer's last expiry; both are in packets. NaN if the previous backlog would have been negative. `None`
/// for a discipline without a timer.
///
/// # Errors
/// A parameter is out of range.
pub fn grid(config: &AqmConfig, link: &Link, backlog: &[f64], change: &[f64]) -> Result<Option<Vec<Vec<f64>>>, ParamError> {
    let fresh = config.build(link)?;
    let Some(interval) = fresh.update_interval() else { return Ok(None) };
    let at = |packets: f64| Backlog { packets: packets as u32, bytes: packets as u64 * u64::from(link.mean_packet), idle_since: None };
    let point = |now: f64, step: f64| {
        let before = now - step;
        if now < 0.0 || before < 0.0 {
            return f64::NAN;
        }
        let mut law = fresh.clone();
        law.on_update(Time::ZERO, &at(before));
        law.on_update(Time::ZERO + interval, &at(now));
        law.probability().map_or(f64::NAN, Probability::get)
    };
    Ok(Some(backlog.iter().map(|&now| change.iter().map(|&step| point(now, step)).collect()).collect()))
}

/// The first flow through a link whose controller has fuzzy rules, and its group.
pub(crate) fn fuzzy_flow(scenario: &Checked, link: u32) -> Option<(u32, &Group)> {
    let mut first = 0;
    scenario.groups.iter().find_map(|group| {
        let flow = (first, group);
        first += group.count;
        let traced = group.traffic.is_tcp() && !group.traffic.opens_connections() && group.forward_links().any(|each| each == link);
        (traced && group.tcp.as_ref()?.control.fuzzy().is_some()).then_some(flow)
    })
}

/// The surface of a link's law over its whole queue.
/// Without such a law, it is the surface of the first controller with fuzzy rules.
pub(crate) fn surface(scenario: &Checked, link: &str, numbers: &mut Numbers) -> Result<Value, String> {
    let managed = managed(scenario, link)?;
    let limit = managed.queue.options.planned_limit().in_packets(scenario.packet).clamp(1, 1000);
    let on = Link { rate: managed.rate, delay: managed.link.delay, mean_packet: scenario.packet, limit_packets: limit };
    let config = &managed.queue.aqm;
    let refused = |error: ParamError| format!("links.{link}.queue.{error}");
    let rules = config.queue_rules(&on).transpose().map_err(refused)?;
    // Rules are constant beyond twice their target, and beyond a change as large as the target.
    let (most, half) = match &rules {
        Some(rules) => (f64::from(limit).min(3.0 * rules.axes.target), 1.5 / rules.axes.change),
        None => (f64::from(limit), (f64::from(limit) / 4.0).clamp(4.0, 50.0).round()),
    };
    let (backlog, change) = (steps(0.0, most), steps(-half, half));
    let (of, rows) = match rules {
        Some(rules) => {
            let point = |now: f64, step: f64| if now < step { f64::NAN } else { rules.output(now, step) };
            ("rules", Some(backlog.iter().map(|&now| change.iter().map(|&step| point(now, step)).collect()).collect()))
        }
        None => ("probability", grid(config, &on, &backlog, &change).map_err(refused)?),
    };
    if let Some(rows) = rows.filter(|rows: &Vec<Vec<f64>>| rows.iter().flatten().any(|p| p.is_finite())) {
        let interval = config.build(&on).ok().and_then(|aqm| aqm.update_interval()).map(|interval| interval.as_secs_f64());
        let values = numbers.add(rows.into_iter().flatten());
        return Ok(
            json!({ "of": of, "rows": numbers.add(backlog), "columns": numbers.add(change), "values": values, "interval": interval }),
        );
    }
    let (_, group) = fuzzy_flow(scenario, managed.index).ok_or_else(|| {
        format!(
            "links.{link}.queue: expected a law with a timer, or a controller with fuzzy rules (others have no surface), got \"{}\"",
            config.name()
        )
    })?;
    let control = group.tcp.as_ref().map(|tcp| &tcp.control);
    let (terms, values) = control.and_then(between_terms).ok_or("expected rules over the centers of terms")?;
    let values = numbers.add(values);
    let places = numbers.add(terms);
    Ok(json!({ "of": "controller", "flow": format!("{}/0", group.name), "rows": places, "columns": places, "values": values }))
}

/// Equal steps from one number to another.
fn steps(low: f64, high: f64) -> Vec<f64> {
    (0..STEPS).map(|i| low + (high - low) * i as f64 / (STEPS - 1) as f64).collect()
}

/// The results of a controller's rules between the terms of both inputs.
/// Terms are counted from the middle one. NaN if the rules yield no number. The centers of FLOWER's terms move during a run, but the
/// results between them do not.
fn between_terms(control: &CcConfig) -> Option<(Vec<f64>, Vec<f64>)> {
    let rules = control.fuzzy()?.ok()?;
    let (error, trend) = (rules.row().centers()?, rules.column().centers()?);
    let at = |centers: &[f64], term: f64| {
        let from_first = term + (centers.len() - 1) as f64 / 2.0;
        let low = (from_first as usize).min(centers.len() - 2);
        centers[low] + (from_first - low as f64) * (centers[low + 1] - centers[low])
    };
    let most = (error.len() - 1) as f64 / 2.0;
    let terms = steps(-most, most);
    let values = terms.iter().flat_map(|&row| terms.iter().map(move |&column| (row, column)));
    let values = values.map(|(row, column)| rules.infer(at(error, row), at(trend, column)).value_or(f64::NAN)).collect();
    Some((terms, values))
}
