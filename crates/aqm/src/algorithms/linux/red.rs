//! Parameters of the kernel's RED and CHOKe, as `tc` computes them.
//! These are the logarithms and the table of idle times (iproute2 `tc_red.c`, `q_red.c`, `q_choke.c`).
//!
//! `tc` computes the table in ticks of 64 ns and the kernel reads it in us. The average therefore falls more slowly in an idle time than
//! the formula says. This file sends the same table as `tc`.

use super::table::{Argument, field, put};
use crate::algorithms::red::{TC_BURST, tc_weight_log};
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

/// Ticks of the kernel's packet scheduler in a microsecond.
const TICKS: f64 = 1e3 / 64.0;

/// A share of 1 in the kernel's encoding.
const SHARE: f64 = 4_294_967_296.0;

/// The value found and the expectation.
type Wrong = (String, &'static str);

/// The parameters under the kernel's names (`struct tc_red_qopt`, `struct tc_choke_qopt`).
struct Logs {
    w: u8,
    p: u8,
    cell: u8,
    table: [u8; 256],
}

/// The options of `red`, or of `choke`, whose thresholds are packets.
pub(super) fn options(choke: bool, arguments: &[Argument]) -> Result<Vec<u8>, Wrong> {
    let number = |at: u16| arguments.iter().find(|one| one.word.at == at).map_or(0, |one| one.value);
    let flags = arguments.iter().filter(|one| one.word.at == field::FLAGS).fold(0, |all, one| all | one.value);
    let limit = number(field::LIMIT);
    if limit == 0 {
        return Err((String::from("no limit"), "a limit"));
    }
    let (mut min, mut max) = (number(field::MIN), number(field::MAX));
    if max == 0 {
        max = if min > 0 && !choke { min * 3 } else { limit / 4 };
    }
    if min == 0 {
        min = max / 3;
    }
    if max < min {
        return Err((format!("min {min} and max {max}"), "a max of min or more"));
    }
    let or = |value: u64, default: u64| if value == 0 { default } else { value };
    let avpkt = or(number(field::AVPKT), 1000);
    let packet = if choke { avpkt } else { 1 };
    let (min_bytes, max_bytes) = (min * packet, max * packet);
    let burst = or(number(field::BURST), or((2 * min_bytes + max_bytes) / (3 * avpkt), 1));
    let share = or(number(field::PROBABILITY), (0.02 * SHARE) as u64);
    let rate = or(number(field::BANDWIDTH), 10_000_000 / 8);
    let w = tc_weight_log(burst as f64, min_bytes as f64 / avpkt as f64).ok_or_else(|| (format!("burst {burst}"), TC_BURST))?;
    let p =
        slope(max_bytes - min_bytes, share as f64 / SHARE).ok_or_else(|| (format!("min {min} and max {max}"), "a larger probability"))?;
    let (cell, table) = idle(w, ticks(avpkt, rate)).ok_or_else(|| (format!("burst {burst}"), "a smaller burst"))?;
    let logs = Logs { w, p, cell, table };
    Ok(encoded([limit as u32, min as u32, max as u32], &logs, flags as u8, share as u32))
}

/// The transmission time in ticks of `bytes` at `rate` bytes a second.
/// Computed as by `tc`: in whole microseconds and whole ticks.
fn ticks(bytes: u64, rate: u64) -> f64 {
    libm::floor(libm::floor(1e6 * bytes as f64 / rate as f64) * TICKS)
}

fn encoded(sizes: [u32; 3], logs: &Logs, flags: u8, share: u32) -> Vec<u8> {
    let mut parameters = vec![];
    sizes.iter().for_each(|size| parameters.extend_from_slice(&size.to_ne_bytes()));
    parameters.extend_from_slice(&[logs.w, logs.p, logs.cell, flags]);
    let mut bytes = vec![];
    put(&mut bytes, 1, &parameters);
    put(&mut bytes, 2, &logs.table);
    put(&mut bytes, 3, &share.to_ne_bytes());
    bytes
}

/// The logarithm of the slope of the probability between the thresholds.
fn slope(span: u64, probability: f64) -> Option<u8> {
    if span == 0 {
        return Some(0);
    }
    let at_first = probability / span as f64;
    (0..32).find(|&log| at_first * libm::exp2(f64::from(log)) > 1.0)
}

/// The table of idle times: the shift of the average after each multiple of 2^cell ticks.
/// A packet takes `packet` ticks.
fn idle(w: u8, packet: f64) -> Option<(u8, [u8; 256])> {
    let per_tick = -libm::log(1.0 - libm::exp2(-f64::from(w))) / packet;
    let longest = 31.0 / per_tick;
    let cell = (0..32).find(|&cell| longest / libm::exp2(f64::from(cell)) < 512.0)?;
    let mut table = [31; 256];
    for (at, halvings) in table[..255].iter_mut().enumerate() {
        *halvings = (at as f64 * libm::exp2(f64::from(cell)) * per_tick).min(31.0) as u8;
    }
    Some((cell, table))
}
