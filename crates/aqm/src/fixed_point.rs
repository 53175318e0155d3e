//! Parameters of laws as constants of programs without floats, such as those of a kernel.

use crate::algorithms::{cpc, fuzzy_red, led, pd, pi};
use crate::{AqmConfig, Link, ParamError};
use alloc::format;
use alloc::vec::Vec;

/// The laws that have such a program.
const NAMES: &str = "one of pi, pd, fuzzy-red, led, cpc";
/// The bits after the point of a gain in probability per packet, and the largest such gain.
const GAIN: i32 = 60;
const LARGEST_GAIN: f64 = 0.25;
/// The bits after the point of a number of packets.
const PACKET: i32 = 20;
/// The most entries of a table.
const LARGEST_TABLE: usize = 1 << 16;

/// The constants of a law's program, each in 64 bits.
///
/// They have the order of its C header (`python/sojourn/bpf/kernel`). The first three are the interval in nanoseconds, the bytes that count as a packet (0 to count packets), and whether packets are marked.
/// Parameters that the program lacks are ignored.
///
/// # Errors
/// The law has no program, or a parameter does not fit into its arithmetic.
pub fn fixed_point(config: &AqmConfig, link: &Link, ecn: bool) -> Result<Vec<u64>, ParamError> {
    let (interval, in_bytes, law) = match config {
        AqmConfig::Pi(params) => (params.interval, params.queue_in_bytes, of_pi(params)?),
        AqmConfig::Pd(params) => (params.interval, params.queue_in_bytes, of_pd(params)?),
        AqmConfig::FuzzyRed(params) => (params.interval, params.queue_in_bytes, of_fuzzy_red(params)?),
        AqmConfig::Led(params) => (params.interval, false, of_led(params, link)?),
        AqmConfig::Cpc(params) => (params.interval, params.queue_in_bytes, of_cpc(params, link)?),
        _ => return Err(ParamError::new("aqm", &config.name(), NAMES)),
    };
    let counted = if in_bytes { u64::from(link.mean_packet) } else { 0 };
    Ok([&[interval.as_nanos(), counted, ecn.into()], &law[..]].concat())
}

/// A number with `bits` after the point. Negative ones are in two's complement.
fn scaled(value: f64, bits: i32) -> u64 {
    libm::round(libm::scalbn(value, bits)) as i64 as u64
}

/// A gain in probability per packet.
fn gain(name: &'static str, value: f64) -> Result<u64, ParamError> {
    ParamError::unless(value <= LARGEST_GAIN, name, &value, "at most 25% a packet in the kernel")?;
    Ok(scaled(value, GAIN))
}

fn of_pi(params: &pi::Params) -> Result<Vec<u64>, ParamError> {
    Ok([gain("a", params.a)?, gain("b", params.b)?, scaled(params.target, PACKET)].into())
}

/// Gains are in percent.
fn of_pd(params: &pd::Params) -> Result<Vec<u64>, ParamError> {
    let gains = [gain("k1", params.k1 / 100.0)?, gain("k2", params.k2 / 100.0)?];
    Ok([gains[0], gains[1], scaled(params.k3 / 100.0, 48), scaled(params.target, PACKET)].into())
}

/// The table reaches from an empty to a full queue.
/// Changes reach from the fastest fall to the fastest rise. Probabilities have 31 bits.
fn of_fuzzy_red(params: &fuzzy_red::Params) -> Result<Vec<u64>, ParamError> {
    let (controller, [full, fall, rise]) = (params.controller()?, params.reach()?);
    let [rows, falls, rises] = [full, fall, rise].map(|packets| libm::ceil(packets) as i64);
    let entries = (rows as usize + 1).saturating_mul((falls + rises) as usize + 1);
    ParamError::unless(entries <= LARGEST_TABLE, "full", &entries, format!("a table of at most {LARGEST_TABLE} entries"))?;
    let table: Vec<u64> = (0..=rows)
        .flat_map(|queue| (-falls..=rises).map(move |change| (queue, change)))
        .map(|(queue, change)| scaled(controller.evaluate(queue as f64, change as f64) / 100.0, 31))
        .collect();
    let pairs = table.chunks(2).map(|pair| pair[0] | pair.get(1).unwrap_or(&0) << 32);
    Ok([rows, falls + rises, falls].into_iter().map(|packets| packets as u64).chain(pairs).collect())
}

fn of_led(params: &led::Params, link: &Link) -> Result<Vec<u64>, ParamError> {
    let capacity = libm::round(link.rate.as_bps() as f64 / 8.0 * params.interval.as_secs_f64()) as u64;
    let size = link.mean_packet_or("max_packet", params.max_packet)?;
    let gate = [size.into(), params.min_queue.into(), params.count_own.into(), params.forced.into()];
    Ok([[params.min, params.max, params.weight].map(|load| scaled(load, 32)).as_slice(), &[capacity.max(1)], &gate].concat())
}

fn of_cpc(params: &cpc::Params, link: &Link) -> Result<Vec<u64>, ParamError> {
    let (design, interval, flows) = (params.design(link)?, params.interval.as_secs_f64(), params.flows);
    Ok([
        scaled(params.target, PACKET),
        scaled(interval / (interval + design.averaging), 32),
        scaled(design.propagation / (interval * flows), 32),
        scaled(1.0 / (design.rate * interval * flows), 44),
        scaled(design.outer_gain, 32),
        scaled(design.outer_gain * interval / design.integral_time, 44),
        gain("inner gain", design.inner_gain * interval)?,
        gain("inner gain", design.inner_gain * design.outer_gain * design.derivative_time)?,
        scaled(design.window.clamp(params.min_window, design.window_max), 32),
        scaled(params.min_window, 32),
        scaled(design.window_max, 32),
        scaled(params.max_p, 48),
    ]
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::test_link;

    #[test]
    fn numbers_beyond_the_arithmetic_and_laws_without_a_program_are_refused() {
        let of = |config: AqmConfig| fixed_point(&config, &test_link(), true).map_err(|error| format!("{error}"));
        assert_eq!(of(AqmConfig::Pi(pi::Params { a: 0.25, ..Default::default() })).unwrap()[3], 1 << 58);
        let steep = of(AqmConfig::Pi(pi::Params { a: 0.26, ..Default::default() }));
        assert_eq!(steep, Err("a: expected at most 25% a packet in the kernel, got 0.26".into()));
        let wide = of(AqmConfig::FuzzyRed(fuzzy_red::Params { full: Some(5000.0), ..Default::default() }));
        assert_eq!(wide, Err("full: expected a table of at most 65536 entries, got 125025".into()));
        let other = of(AqmConfig::Pie(Default::default()));
        assert_eq!(other, Err("aqm: expected one of pi, pd, fuzzy-red, led, cpc, got pie".into()));
    }
}
