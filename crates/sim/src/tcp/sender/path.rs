//! Optional parts of senders: pacing, delivery-rate samples, counts of marks.
//! Senders without them have `tracks` off and pay for one test a segment.

use crate::packet::flag;
use crate::tcp::ecn::{MarkReader, NO_MARKS};
use crate::tcp::rate::{Pacer, Sampler, SentSegments};
use sojourn_cc::{AnyController, CongestionController, LossState};
use sojourn_spec::tcp::{Ecn, Recovery, SackAlgorithm, TcpOptions};
use sojourn_units::{Memory, Time, memory_of};

/// The source of the pacing rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PaceSource {
    /// The window and the smoothed RTT.
    Window,
    /// The controller; the window while the controller sets no rate.
    Controller,
    /// The controller, which sets a rate only at times of its start-up.
    StartUp {
        /// Whether the window paces other segments.
        then_window: bool,
    },
}

impl PaceSource {
    /// Whether the window determines the rate, at least at times.
    pub fn follows_window(self) -> bool {
        matches!(self, PaceSource::Window | PaceSource::StartUp { then_window: true })
    }
}

/// The state of a sender that paces its segments, takes samples or counts marks.
#[derive(Clone, Debug)]
pub struct Path {
    pub pacer: Option<Pacer>,
    pub pace_source: PaceSource,
    /// That pacing rate in segments a second, if it is stored from one ACK to the next.
    pub pace_of_window: Option<f64>,
    /// The time at which pacing releases the next segment, if the windows allow it now.
    pub pace_due: Time,
    pub sampler: Option<Sampler>,
    /// The sampled segments, if the recovery strategy stores none itself.
    pub segments: SentSegments,
    /// Whether the controller uses the samples; otherwise they only serve the counts of marks.
    pub samples: bool,
    pub marks: Option<MarkReader>,
    /// The AccECN flags of packets: the ACE field (rfc9768#3.2.2), and that of the option.
    /// The ACE field counts marked ACKs. 0 without AccECN.
    pub accecn_flags: u16,
    /// Segments that the current ACK reports as marked, if they are counted.
    pub marked: f64,
    /// The state that a recovery strategy with its own states reports.
    pub state: Option<LossState>,
}

impl Path {
    /// The parts that a controller and the options need; `None` if they need none.
    pub fn new(cc: &AnyController, params: &TcpOptions, ecn: Ecn) -> Option<Box<Path>> {
        let needs = cc.needs();
        let paces = needs.pacing || needs.start_up_pacing || params.pacing;
        let pace_source = match (needs.pacing, needs.start_up_pacing) {
            (true, _) => PaceSource::Controller,
            (false, true) => PaceSource::StartUp { then_window: params.pacing },
            (false, false) => PaceSource::Window,
        };
        // The counts of marks need the delivered segments: from a strategy that stores segments, or else from samples.
        let samples = needs.rate_samples || needs.losses || (ecn.is_accurate() && !keeps_segments(params));
        let whole = params.linux_growth && (needs.rate_samples || params.recovery != Recovery::Sack);
        let path = Path {
            pacer: paces.then(|| Pacer::new(params)),
            pace_source,
            pace_of_window: None,
            pace_due: Time::NEVER,
            sampler: samples.then(|| Sampler::counting(if whole { params.mss } else { 0 })),
            segments: SentSegments::default(),
            samples: needs.rate_samples,
            marks: ecn.is_accurate().then(|| MarkReader::new(params)),
            accecn_flags: if ecn.is_accurate() { NO_MARKS | if params.accecn_room() > 0 { flag::ACCECN } else { 0 } } else { 0 },
            marked: 0.0,
            state: None,
        };
        (path.pacer.is_some() || path.sampler.is_some() || path.marks.is_some()).then(|| Box::new(path))
    }

    /// Checks that the stored segments are outstanding and counted correctly.
    ///
    /// # Panics
    /// If they are not.
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

/// Whether the recovery strategy stores the outstanding segments itself.
fn keeps_segments(params: &TcpOptions) -> bool {
    params.recovery == Recovery::Sack && params.sack_algorithm == SackAlgorithm::RackTlp
}
