//! A law as a surface over the queue and its change.

use crate::flows::managed;
use crate::numbers::Numbers;
use serde_json::{Value, json};
use sojourn_aqm::{Aqm, AqmConfig, Backlog, Link, ParamError};
use sojourn_scenario::Checked;
use sojourn_units::{Probability, Time};

/// Rows and columns of a surface.
const STEPS: usize = 49;

/// The probability of a law with a timer, for each backlog and each change since the timer's last expiry, both in packets: a row for
/// each backlog. NaN where the backlog before would have been negative, `None` for a discipline without a timer.
///
/// # Errors
/// A parameter that is out of range.
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

/// The surface of the law of a link, over the whole of its queue.
pub(crate) fn surface(scenario: &Checked, link: &str, numbers: &mut Numbers) -> Result<Value, String> {
    let managed = managed(scenario, link)?;
    let limit = managed.queue.options.limit.in_packets(scenario.packet).clamp(1, 1000);
    let on = Link { rate: managed.rate, delay: managed.link.delay, mean_packet: scenario.packet, limit_packets: limit };
    let steps = |low: f64, high: f64| (0..STEPS).map(move |i| low + (high - low) * i as f64 / (STEPS - 1) as f64);
    let half = (f64::from(limit) / 4.0).clamp(4.0, 50.0).round();
    let (backlog, change): (Vec<f64>, Vec<f64>) = (steps(0.0, f64::from(limit)).collect(), steps(-half, half).collect());
    let config = &managed.queue.aqm;
    let rows = grid(config, &on, &backlog, &change).map_err(|error| format!("links.{link}.queue.{error}"))?;
    let rows = rows.filter(|rows| rows.iter().flatten().any(|p| p.is_finite()));
    let rows =
        rows.ok_or_else(|| format!("links.{link}.queue: expected a law with a timer (others have no surface), got \"{}\"", config.name()))?;
    let interval = config.build(&on).ok().and_then(|aqm| aqm.update_interval()).map(|interval| interval.as_secs_f64());
    let values = numbers.add(rows.into_iter().flatten());
    Ok(json!({ "backlog": numbers.add(backlog), "change": numbers.add(change), "probability": values, "interval": interval }))
}
