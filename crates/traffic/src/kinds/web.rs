//! Pages of objects, with one TCP connection per object (ns-2's `PagePool/WebTraf`).

use crate::{Connection, Opening, ParamError, SessionModel, Size, Transport};
use sojourn_units::{Bytes, Duration, Stream, Time, range};

/// The event that starts the gap before the next page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Loop {
    /// The start of the previous page: page arrivals are independent of completions.
    Open,
    /// The end of the previous page, as in ns-2's `WebTraf`.
    #[default]
    Closed,
}

/// The expectation for a mean size in messages.
const OBJECT_MEAN: &str = "a number of segments, 0.001 to 1e9, or a size with its unit such as \"12 kB\"";

/// The mean size of an object.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(untagged))]
pub enum ObjectMean {
    /// Full segments.
    Segments(f64),
    /// Bytes of payload.
    Bytes(Bytes),
}

impl ObjectMean {
    /// The mean in segments of `mss` bytes.
    fn segments(self, mss: u32) -> f64 {
        match self {
            ObjectMean::Segments(mean) => mean,
            ObjectMean::Bytes(mean) => mean.0 as f64 / f64::from(mss),
        }
    }

    /// A random size: Pareto, type II, at least one segment or byte.
    fn draw(self, shape: f64, random: &mut Stream) -> Size {
        let mut above = |mean: f64| libm::ceil(random.pareto2(mean, shape)).max(1.0) as u64;
        match self {
            ObjectMean::Segments(mean) => Size::Segments(above(mean)),
            ObjectMean::Bytes(mean) => Size::Bytes(above(mean.0 as f64)),
        }
    }
}

/// Reads a number of segments, or a size as text.
#[cfg(feature = "serde")]
struct ReadMean;

#[cfg(feature = "serde")]
impl serde::de::Visitor<'_> for ReadMean {
    type Value = ObjectMean;

    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(OBJECT_MEAN)
    }

    fn visit_f64<E: serde::de::Error>(self, mean: f64) -> Result<ObjectMean, E> {
        Ok(ObjectMean::Segments(mean))
    }

    fn visit_i64<E: serde::de::Error>(self, mean: i64) -> Result<ObjectMean, E> {
        Ok(ObjectMean::Segments(mean as f64))
    }

    fn visit_u64<E: serde::de::Error>(self, mean: u64) -> Result<ObjectMean, E> {
        Ok(ObjectMean::Segments(mean as f64))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ObjectMean, E> {
        let invalid = |_| E::invalid_value(serde::de::Unexpected::Str(text), &self);
        sojourn_units::parse_bytes(text).map(ObjectMean::Bytes).map_err(invalid)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for ObjectMean {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReadMean)
    }
}

/// Parameters of a web session.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Web"))]
pub struct Params {
    /// Mean time between pages, exponential, above zero.
    pub page_gap: Duration,
    /// Objects per page, 1 to 1000000; default 1.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub objects: u32,
    /// Mean time between objects of a page, exponential; default "0 s".
    #[cfg_attr(feature = "serde", serde(default))]
    pub object_gap: Duration,
    /// Mean size of an object in full segments, 0.001 to 1e9, or in bytes.
    /// Bytes are a text such as "12 kB", 1 B to 1000000 GB.
    pub object_mean: ObjectMean,
    /// Shape of an object's size (Pareto, type II), above 1, at most 1000.
    pub object_shape: f64,
    /// Size of the request before each object; default "0 B": no request.
    /// It is sent on a connection of its own.
    #[cfg_attr(feature = "serde", serde(default))]
    pub request: Bytes,
    /// Number of pages, at least 1; default: unlimited.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub pages: Option<u32>,
    /// The event that starts the gap before the next page; default "closed".
    #[cfg_attr(feature = "serde", serde(default))]
    pub r#loop: Loop,
}

/// The overhead of opening and closing a connection, in equivalent segments.
const OF_A_CONNECTION: f64 = 3.0;

#[cfg(feature = "serde")]
fn one() -> u32 {
    1
}

impl crate::Params for Params {
    type Model = Web;

    fn example() -> Self {
        Params {
            page_gap: Duration::from_secs(1),
            objects: 1,
            object_gap: Duration::ZERO,
            object_mean: ObjectMean::Segments(12.0),
            object_shape: 1.2,
            request: Bytes(0),
            pages: None,
            r#loop: Loop::Closed,
        }
    }

    fn check(&self) -> Result<(), ParamError> {
        range::positive_time("page_gap", self.page_gap)?;
        range::time("object_gap", self.object_gap)?;
        range::pareto_shape("object_shape", self.object_shape)?;
        match self.object_mean {
            ObjectMean::Segments(mean) => {
                ParamError::unless((1e-3..=1e9).contains(&mean), "object_mean", &mean, OBJECT_MEAN)?;
            }
            ObjectMean::Bytes(mean) => range::transfer_size("object_mean", mean)?,
        }
        if self.request > Bytes(0) {
            range::transfer_size("request", self.request)?;
        }
        let objects = (1..=1_000_000).contains(&self.objects);
        ParamError::unless(objects, "objects", &self.objects, "a whole number, 1 to 1000000")?;
        let expected = "a whole number above zero, or none for pages without end";
        ParamError::unless(self.pages != Some(0), "pages", &0, expected)
    }

    fn model(&self) -> Web {
        Web {
            page_gap: self.page_gap.as_secs_f64(),
            object_gap: self.object_gap.as_secs_f64(),
            params: self.clone(),
            objects_left: 0,
            objects_open: 0,
            pages_started: 0,
            next_page: Time::ZERO,
        }
    }

    fn connections_at_once(&self) -> u32 {
        if self.object_gap == Duration::ZERO { self.objects } else { 1 }
    }

    fn segments_at_once(&self, mss: u32) -> f64 {
        let request = self.request.0 as f64 / f64::from(mss);
        let mean = self.object_mean.segments(mss);
        let page = f64::from(self.objects) * (mean + request + OF_A_CONNECTION);
        page.max(super::MOST_OF_MEAN * mean)
    }

    fn transport(&self) -> Transport {
        Transport::Tcp
    }

    fn requests(&self) -> bool {
        self.request > Bytes(0)
    }
}

/// The state of a web session.
#[derive(Clone, Debug)]
pub struct Web {
    params: Params,
    /// Mean time between pages in seconds.
    page_gap: f64,
    /// Mean time between objects in seconds.
    object_gap: f64,
    /// Objects of this page that are not requested yet.
    objects_left: u32,
    /// Objects of this page that are requested but not complete.
    objects_open: u32,
    pages_started: u32,
    /// The start of the next page, with an open loop.
    next_page: Time,
}

impl SessionModel for Web {
    fn open(&mut self, now: Time, random: &mut Stream) -> Opening {
        if self.objects_left == 0 {
            if self.params.pages.is_some_and(|pages| self.pages_started >= pages) {
                return Opening { connection: None, next: None };
            }
            self.pages_started = self.pages_started.saturating_add(1);
            self.objects_left = self.params.objects;
            self.next_page = now + Duration::from_secs_f64(random.exponential(self.page_gap));
        }
        self.objects_left -= 1;
        self.objects_open += 1;
        let size = self.params.object_mean.draw(self.params.object_shape, random);
        let next = match (self.objects_left, self.params.r#loop) {
            (0, Loop::Closed) => None,
            (0, Loop::Open) => Some(self.next_page.max(now)),
            _ => Some(now + Duration::from_secs_f64(random.exponential(self.object_gap))),
        };
        Opening { connection: Some(Connection { request: self.params.request.0, size }), next }
    }

    fn on_complete(&mut self, now: Time, random: &mut Stream) -> Option<Time> {
        self.objects_open = self.objects_open.saturating_sub(1);
        let page_is_complete = self.objects_open == 0 && self.objects_left == 0;
        let waits = self.params.r#loop == Loop::Closed && page_is_complete;
        waits.then(|| now + Duration::from_secs_f64(random.exponential(self.page_gap)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;

    fn secs(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn a_mean_size_in_bytes_draws_sizes_in_bytes() {
        let params = Params { object_mean: ObjectMean::Bytes(Bytes(12_000)), object_shape: 1000.0, ..Params::example() };
        let (mut web, mut random) = (params.model(), Stream::named(1, "web"));
        let mut mean = 0.0;
        for i in 0..2000 {
            let Size::Bytes(bytes) = web.open(secs(i), &mut random).connection.unwrap().size else { panic!("segments") };
            mean += bytes as f64 / 2000.0;
        }
        // The shape makes it nearly exponential, whose standard error is 12000 / sqrt(2000) = 268.
        assert!((mean - 12_000.0).abs() < 4.0 * 268.0, "{mean}");
        assert!(params.segments_at_once(1000) > 12.0 && params.check().is_ok());
        assert!(Params { object_mean: ObjectMean::Bytes(Bytes(0)), ..params }.check().is_err());
    }

    #[test]
    fn a_closed_loop_starts_the_gap_when_a_page_is_complete() {
        let params = Params { page_gap: Duration::from_secs(3), objects: 2, object_gap: Duration::from_millis(1), ..Params::example() };
        let (mut web, mut random) = (params.model(), Stream::named(1, "web"));
        let first = web.open(secs(1), &mut random);
        assert!(first.connection.is_some());
        let second = web.open(first.next.unwrap(), &mut random);
        assert!(second.connection.is_some() && second.next.is_none());
        assert_eq!(web.on_complete(secs(2), &mut random), None);
        assert!(web.on_complete(secs(3), &mut random).unwrap() > secs(3));
    }
}
