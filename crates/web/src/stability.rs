//! The margins of a law with the flows of a scenario, and its Bode plot.

use crate::flows::{managed, plant};
use crate::numbers::Numbers;
use crate::run::check_size;
use serde_json::{Value, json};
use sojourn_aqm::Link;
use sojourn_fluid::{Complex, Control, Grid, Loop};
use sojourn_scenario::Checked;

/// The number of points of a Bode plot.
const POINTS: usize = 300;

/// The operating point, the margins, and the open loop's response.
pub(crate) fn stability(scenario: &Checked, seed: Option<u64>, link: &str, numbers: &mut Numbers) -> Result<Value, String> {
    check_size(scenario)?;
    let managed = managed(scenario, link)?;
    let modeled = plant(&scenario.plan(seed.unwrap_or(scenario.seed)), &managed)?;
    let limit = managed.queue.options.planned_limit().in_packets(scenario.packet).max(1);
    let on = Link { rate: managed.rate, delay: managed.link.delay, mean_packet: scenario.packet, limit_packets: limit };
    let control = Control::of(&managed.queue.aqm, &on, &modeled.plant).map_err(|error| format!("links.{link}.queue: {error}"))?;
    let closed = Loop::new(modeled.plant, &control).map_err(|error| error.to_string())?;
    let (point, margins) = (&closed.point, closed.margins());
    let omega = shown(&closed, margins.crossover);
    let values: Vec<Complex> = omega.iter().map(|&w| closed.at(w)).collect();
    let decibels = values.iter().map(|value| 20.0 * value.size().log10());
    let mut last = values[0].angle();
    let mut degrees = vec![last.to_degrees()];
    for value in &values[1..] {
        let turned = (value.angle() - last + std::f64::consts::PI).rem_euclid(std::f64::consts::TAU) - std::f64::consts::PI;
        last += turned;
        degrees.push(last.to_degrees());
    }
    Ok(json!({
        "point": { "queue": point.queue, "probability": point.probability, "window": point.window, "load": point.load },
        "margins": {
            "stable": margins.stable, "gain": finite(margins.gain), "phase": finite(margins.phase), "delay": finite(margins.delay),
            "crossover": finite(margins.crossover), "turn": finite(margins.turn),
        },
        "notes": modeled.notes,
        "bode": { "omega": numbers.add(omega), "gain": numbers.add(decibels), "phase": numbers.add(degrees) },
    }))
}

/// The frequencies of the plot.
/// Below a tenth of the pole of the windows and of the crossover, only integrators have an effect.
fn shown(closed: &Loop, crossover: f64) -> Vec<f64> {
    let all = closed.grid(2).0;
    let pole = closed.point.rtts.iter().map(|rtt| 2.0 / (rtt * closed.point.window)).fold(f64::INFINITY, f64::min);
    Grid::between(all[0].max(0.1 * pole.min(crossover)), all[1], POINTS).0
}

/// A number as JSON: null for infinite and NaN.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
