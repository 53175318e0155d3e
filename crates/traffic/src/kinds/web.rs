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
    /// Mean size of an object in full segments, 0.001 to 1e9.
    pub object_mean: f64,
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
            object_mean: 12.0,
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
        let mean = (1e-3..=1e9).contains(&self.object_mean);
        ParamError::unless(mean, "object_mean", &self.object_mean, "a number of segments, 0.001 to 1e9")?;
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
        let page = f64::from(self.objects) * (self.object_mean + request + OF_A_CONNECTION);
        page.max(super::MOST_OF_MEAN * self.object_mean)
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
        let segments = libm::ceil(random.pareto2(self.params.object_mean, self.params.object_shape)).max(1.0) as u64;
        let next = match (self.objects_left, self.params.r#loop) {
            (0, Loop::Closed) => None,
            (0, Loop::Open) => Some(self.next_page.max(now)),
            _ => Some(now + Duration::from_secs_f64(random.exponential(self.object_gap))),
        };
        Opening { connection: Some(Connection { request: self.params.request.0, size: Size::Segments(segments) }), next }
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
