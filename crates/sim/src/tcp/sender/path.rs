//! What some senders do beyond the windows: pacing, delivery-rate samples, counts of marks. Others have `tracks` off and pay
//! for one test a segment.

use crate::packet::flag;
use crate::tcp::ecn::{MarkReader, NO_MARKS};
use crate::tcp::rate::{Pacer, Sampler, SentSegments};
use sojourn_cc::{AnyController, CongestionController, LossState};
use sojourn_spec::tcp::{Ecn, Recovery, SackAlgorithm, TcpOptions};
use sojourn_units::{Memory, Time, memory_of};

/// What a sender has that paces its segments, takes samples or counts marks.
#[derive(Clone, Debug)]
pub struct Path {
    pub pacer: Option<Pacer>,
    /// Whether the window gives the pace.
    pub follows_window: bool,
    /// That pace in segments a second, from the last ACK on, where it is kept from one ACK to the next.
    pub pace_of_window: Option<f64>,
    /// When pacing lets the next segment go, if the windows would let it go now.
    pub pace_due: Time,
    pub sampler: Option<Sampler>,
    /// The segments that are sampled, where the recovery strategy keeps none itself.
    pub segments: SentSegments,
    /// Whether the controller takes the samples; else they serve the counts of marks alone.
    pub samples: bool,
    pub marks: Option<MarkReader>,
    /// What packets tell: of marked ACKs by the ACE field (rfc9768#3.2.2), and whether data has AccECN's option; 0 without AccECN.
    pub told: u16,
    /// Segments that the current ACK reports as marked, where they are counted.
    pub marked: f64,
    /// Where a recovery strategy says it that has states of its own.
    pub state: Option<LossState>,
}

impl Path {
    /// What a controller and the options ask for; `None` if they ask for nothing.
    pub fn new(cc: &AnyController, params: &TcpOptions, ecn: Ecn) -> Option<Box<Path>> {
        let needs = cc.needs();
        let paces = needs.pacing || params.pacing;
        // A strategy that keeps the segments tells of what ACKs deliver, for the counts of marks; others leave that to samples.
        let samples = needs.rate_samples || (ecn.is_accurate() && !keeps_segments(params));
        let whole = params.linux_growth && (needs.rate_samples || params.recovery != Recovery::Sack);
        let path = Path {
            pacer: paces.then(|| Pacer::new(params)),
            follows_window: paces && !needs.pacing,
            pace_of_window: None,
            pace_due: Time::NEVER,
            sampler: samples.then(|| Sampler::counting(if whole { params.mss } else { 0 })),
            segments: SentSegments::default(),
            samples: needs.rate_samples,
            marks: ecn.is_accurate().then(|| MarkReader::new(params)),
            told: if ecn.is_accurate() { NO_MARKS | if params.accecn_room() > 0 { flag::ACCECN } else { 0 } } else { 0 },
            marked: 0.0,
            state: None,
        };
        (path.pacer.is_some() || path.sampler.is_some() || path.marks.is_some()).then(|| Box::new(path))
    }

    /// Checks the segments that it keeps: they are outstanding, and counted as they are.
    ///
    /// # Panics
    /// They are not.
    pub fn check_invariants(&self, snd_una: u64, snd_max: u64) {
        if let Some(sampler) = &self.sampler {
            self.segments.check_invariants(snd_una, snd_max, sampler);
        }
    }
}

impl Memory for Path {
    fn memory(&self) -> usize {
        memory_of([&self.sampler, &self.segments])
    }
}

/// Whether the recovery strategy keeps the outstanding segments itself.
fn keeps_segments(params: &TcpOptions) -> bool {
    params.recovery == Recovery::Sack && params.sack_algorithm == SackAlgorithm::RackTlp
}
