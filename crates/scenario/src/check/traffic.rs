//! What flows send: ranges, and nothing that would take no time at all.

use super::{above_zero, number, packet, rate, within};
use crate::error::Error;
use crate::written::Traffic;
use sojourn_units::{Bytes, Rate};

/// The most objects a page may have.
const MOST_OBJECTS: u32 = 1_000_000;

/// Checks what a group sends.
pub(super) fn check(traffic: &Traffic, field: &str) -> Result<(), Error> {
    let at = |key: &str| format!("{field}.{key}");
    match traffic {
        Traffic::Bulk(bulk) => bulk.size.map_or(Ok(()), |size| some(at("size"), size)),
        Traffic::Cbr(cbr) => {
            paced(field, cbr.rate, cbr.size)?;
            number(at("jitter"), cbr.jitter, 0.0..=1.0, "a number, 0 to 1").map(drop)
        }
        Traffic::Ping(ping) => {
            packet(at("size"), ping.size)?;
            above_zero(at("every"), ping.every).map(drop)
        }
        Traffic::Poisson(poisson) => paced(field, poisson.rate, poisson.size),
        Traffic::OnOff(onoff) => {
            paced(field, onoff.rate, onoff.size)?;
            above_zero(at("on"), onoff.on)?;
            within(at("off"), onoff.off)?;
            shape(at("shape"), onoff.shape)
        }
        Traffic::Web(web) => {
            above_zero(at("page_gap"), web.page_gap)?;
            within(at("object_gap"), web.object_gap)?;
            shape(at("object_shape"), Some(web.object_shape))?;
            number(at("object_mean"), web.object_mean, 1e-3..=1e9, "a number of packets above zero, at most 1e9")?;
            if web.request != Bytes(0) {
                some(at("request"), web.request)?;
            }
            let objects = (1..=MOST_OBJECTS).contains(&web.objects);
            if !objects {
                return Err(Error::given(at("objects"), web.objects, format_args!("a whole number, 1 to {MOST_OBJECTS}")));
            }
            match web.pages {
                Some(0) => Err(Error::given(at("pages"), 0, "a whole number above zero, or none for pages without end")),
                _ => Ok(()),
            }
        }
        Traffic::Transfers(transfers) => {
            above_zero(at("every"), transfers.every)?;
            some(at("size_mean"), transfers.size_mean)?;
            shape(at("size_shape"), transfers.size_shape)
        }
    }
}

/// A rate and a packet size, so that a packet takes at least a nanosecond.
fn paced(field: &str, given: Rate, size: Bytes) -> Result<(), Error> {
    let bytes = packet(format!("{field}.size"), size)?;
    rate(format!("{field}.rate"), given)?;
    match given.time_for(u64::from(bytes)).as_nanos() {
        0 => Err(Error::given(format!("{field}.rate"), given, format_args!("a rate at which {bytes} B take at least 1 ns"))),
        _ => Ok(()),
    }
}

fn some(field: String, size: Bytes) -> Result<(), Error> {
    match size.0 {
        1..=1_000_000_000_000_000 => Ok(()),
        _ => Err(Error::given(field, format_args!("{} B", size.0), "a size of 1 B to 1000000 GB")),
    }
}

fn shape(field: String, shape: Option<f64>) -> Result<(), Error> {
    match shape.filter(|shape| !(*shape > 1.0 && *shape <= 1000.0)) {
        Some(shape) => Err(Error::given(field, shape, "a number above 1 (below, the mean is infinite), at most 1000")),
        None => Ok(()),
    }
}
