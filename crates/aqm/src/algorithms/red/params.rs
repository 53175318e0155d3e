//! RED's parameters and their values on a link.
//! Aliases are the short names of `tc` and the names of ns-2.

use crate::{Link, ParamError};
use sojourn_units::{Bytes, Duration};

/// The parameters of RED.
/// The defaults are those of ns-2.35, except that the queue is measured in packets and the mean packet is the link's ([`Params::ns2`] has
/// exactly the defaults of ns-2).
///
/// Linux `tc red` has `min` and `max` in bytes: divide them by `avpkt`. Its RED is `wait = false`, `gentle = false`, `queue_in_bytes =
/// true`, and `mark_p = 1` unless `harddrop` is given; its `limit`, like ns-2's `limit_`, is the queue's.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Average queue in mean packets above which early drops begin.
    /// 0 (the default) is automatic: the greater of 5 and half of the packets that the link sends in `target` (ns-2 `thresh_`).
    #[cfg_attr(feature = "serde", serde(alias = "thresh_", alias = "thresh", alias = "min_th"))]
    pub min: f64,
    /// Average queue in mean packets at which the probability is `max_p`.
    /// 0 (the default) is 3 `min` (ns-2 `maxthresh_`).
    #[cfg_attr(feature = "serde", serde(alias = "maxthresh_", alias = "maxthresh", alias = "max_th"))]
    pub max: f64,
    /// Probability of an early drop at `max`.
    /// Range: above 0 and up to 1; default 0.1. With `adaptive` it is only the initial value (ns-2 1/`linterm_`, tc `probability`).
    #[cfg_attr(feature = "serde", serde(alias = "probability"))]
    pub max_p: f64,
    /// Instead of `max_p`: its inverse, at least 1 (ns-2 `linterm_`, default absent).
    #[cfg_attr(feature = "serde", serde(alias = "linterm_"))]
    pub linterm: Option<f64>,
    /// Weight of the newest queue length in the average.
    /// Range: above 0 and up to 1. Automatic for 0: 1 - exp(-1/ptc), for -2: 1 - exp(-10/ptc), for -1 (the default): 1 - exp(-1/(10 R
    /// ptc)), where ptc is mean packets a second and R = max(0.1 s, 3 (link delay + 1/ptc)) (ns-2 `q_weight_`).
    #[cfg_attr(feature = "serde", serde(alias = "q_weight_", alias = "q_weight"))]
    pub weight: f64,
    /// Instead of `weight`: the packets that may arrive at an empty queue in one burst.
    /// The weight follows from it as in tc, rounded to a power of 1/2 (tc `burst`, default absent).
    pub burst: Option<u32>,
    /// Whether the probability rises in a line from `max_p` at `max` to 1 at twice `max`.
    /// Otherwise it jumps to 1; default true (ns-2 `gentle_`).
    #[cfg_attr(feature = "serde", serde(alias = "gentle_"))]
    pub gentle: bool,
    /// Whether at least 1/p packets pass between two drops; default true (ns-2 `wait_`).
    #[cfg_attr(feature = "serde", serde(alias = "wait_"))]
    pub wait: bool,
    /// Whether the probability scales with the packet's size over `mean_packet`.
    /// The count since the last drop is then in bytes; default false (ns-2 `bytes_`, there true since October 2004).
    #[cfg_attr(feature = "serde", serde(alias = "bytes_"))]
    pub bytes: bool,
    /// Whether the queue is measured in bytes, with thresholds times `mean_packet`.
    /// Default false (ns-2 `queue_in_bytes_`, there true since October 2004).
    #[cfg_attr(feature = "serde", serde(alias = "queue_in_bytes_", alias = "qib_"))]
    pub queue_in_bytes: bool,
    /// Mean packet size; `"0 B"` (the default) is the link's.
    /// See ns-2 `mean_pktsize_`, there 500; tc `avpkt`.
    #[cfg_attr(feature = "serde", serde(alias = "mean_pktsize_", alias = "mean_pktsize", alias = "avpkt"))]
    pub mean_packet: Bytes,
    /// Whether packets are dropped instead of marked above `mark_p`; default true.
    /// If false, every packet is dropped at a probability of 1, and packets are marked below it (ns-2 `use_mark_p_`).
    #[cfg_attr(feature = "serde", serde(alias = "use_mark_p_"))]
    pub use_mark_p: bool,
    /// With `use_mark_p`, the probability above which packets are dropped instead of marked.
    /// It is compared before the correction for even spacing. Range: 0 or more (1 and more: never); default 0.1 (ns-2 `mark_p_`).
    #[cfg_attr(feature = "serde", serde(alias = "mark_p_"))]
    pub mark_p: f64,
    /// Whether `max_p` is adapted to keep the average between `min` and `max`.
    /// Default false (ns-2 `adaptive_`, tc `adaptive`).
    #[cfg_attr(feature = "serde", serde(alias = "adaptive_"))]
    pub adaptive: bool,
    /// With `adaptive`, whether Feng's rule is used instead of Floyd's.
    /// Default false (ns-2 `feng_adaptive_`).
    #[cfg_attr(feature = "serde", serde(alias = "feng_adaptive_"))]
    pub feng_adaptive: bool,
    /// The most that adaptive RED adds to `max_p` in one step.
    /// Range: above 0 and up to 1; default 0.01 (floyd-2001, ns-2 `alpha_`).
    #[cfg_attr(feature = "serde", serde(alias = "alpha_"))]
    pub alpha: f64,
    /// Factor by which adaptive RED lowers `max_p`.
    /// Range: above 0 and below 1; default 0.9 (floyd-2001, ns-2 `beta_`).
    #[cfg_attr(feature = "serde", serde(alias = "beta_"))]
    pub beta: f64,
    /// With `feng_adaptive`, the divisor of `max_p` when the average falls below `min`.
    /// Range: above 1; default 3 (feng-1999b; ns-2 uses `alpha_` for this too).
    pub feng_alpha: f64,
    /// With `feng_adaptive`, the factor on `max_p` when the average rises above `max`.
    /// Range: above 1; default 2 (feng-1999b; ns-2 uses `beta_` for this too).
    pub feng_beta: f64,
    /// Shortest time between two adaptations.
    /// Default `"500 ms"` (ns-2 `interval_`, in seconds there).
    #[cfg_attr(feature = "serde", serde(alias = "interval_"))]
    pub interval: Duration,
    /// Value from which adaptive RED no longer raises `max_p`.
    /// Range: above 0 and up to 1; default 0.5 (ns-2 `top_`).
    #[cfg_attr(feature = "serde", serde(alias = "top_"))]
    pub top: f64,
    /// Value from which adaptive RED no longer lowers `max_p`.
    /// 0 (the default) is automatic: the smaller of 0.01 and 80 kbit/s over the link's rate (ns-2 `bottom_`).
    #[cfg_attr(feature = "serde", serde(alias = "bottom_"))]
    pub bottom: f64,
    /// Queuing delay from which an automatic `min` is computed.
    /// Default `"5 ms"` (ns-2 `targetdelay_`, in seconds there).
    #[cfg_attr(feature = "serde", serde(alias = "targetdelay_", alias = "targetdelay"))]
    pub target: Duration,
    /// Experiments of ns-2, default 0.
    /// While the queue is far shorter than its average, 1 disables early drops and 2 reduces them. With 3 idle time counts in packets of
    /// `idle_packet` (ns-2 `cautious_`).
    #[cfg_attr(feature = "serde", serde(alias = "cautious_"))]
    pub cautious: u8,
    /// Packet size in which idle time is counted with `cautious = 3`.
    /// Default `"100 B"` (ns-2 `idle_pktsize_`).
    #[cfg_attr(feature = "serde", serde(alias = "idle_pktsize_", alias = "idle_pktsize"))]
    pub idle_packet: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            min: 0.0,
            max: 0.0,
            max_p: 0.1,
            linterm: None,
            weight: -1.0,
            burst: None,
            gentle: true,
            wait: true,
            bytes: false,
            queue_in_bytes: false,
            mean_packet: Bytes(0),
            use_mark_p: true,
            mark_p: 0.1,
            adaptive: false,
            feng_adaptive: false,
            alpha: 0.01,
            beta: 0.9,
            feng_alpha: 3.0,
            feng_beta: 2.0,
            interval: Duration::from_millis(500),
            top: 0.5,
            bottom: 0.0,
            target: Duration::from_millis(5),
            cautious: 0,
            idle_packet: Bytes(100),
        }
    }
}

/// The parameters on a link, with all automatic values computed.
/// Lengths are in the unit of the average.
#[derive(Clone, PartialEq, Debug)]
pub struct Resolved {
    /// Mean packet size in bytes.
    pub mean_packet: u32,
    /// Packets of mean size that the link sends in a second (ns-2's packet time constant).
    pub ptc: f64,
    /// Packets sent in a second of idle time: packets of `idle_packet` with `cautious = 3`.
    pub idle_ptc: f64,
    /// Average above which early drops begin.
    pub min: f64,
    /// Average at which the probability is max_p.
    pub max: f64,
    /// Average at which the probability is 1: twice `max` if gentle.
    pub certain: f64,
    /// Initial probability at `max`.
    pub max_p: f64,
    /// Weight of the newest queue length.
    pub weight: f64,
    /// Value from which adaptive RED no longer lowers max_p.
    pub bottom: f64,
}

impl Params {
    /// Exactly the defaults of ns-2.35.
    /// These are [`Params::default`], with the queue and the probability in bytes and a mean packet of 500 bytes.
    pub fn ns2() -> Self {
        Params { bytes: true, queue_in_bytes: true, mean_packet: Bytes(500), ..Params::default() }
    }

    /// The values of the parameters on `link`.
    ///
    /// # Errors
    /// The first parameter that is out of range, or given twice.
    pub fn resolve(&self, link: &Link) -> Result<Resolved, ParamError> {
        self.check_ranges()?;
        let mean_packet = link.mean_packet_or("mean_packet", self.mean_packet)?;
        let ptc = link.rate.packets_per_sec(f64::from(mean_packet));
        let min = if self.min == 0.0 { (self.target.as_secs_f64() * ptc / 2.0).max(5.0) } else { self.min };
        let max = if self.max == 0.0 { 3.0 * min } else { self.max };
        ParamError::unless(max >= min, "max", &max, "a number of packets not below min, or 0 for 3 min")?;
        let unit = if self.queue_in_bytes { f64::from(mean_packet) } else { 1.0 };
        let idle_ptc = if self.cautious == 3 { link.rate.packets_per_sec(self.idle_packet.0 as f64) } else { ptc };
        Ok(Resolved {
            mean_packet,
            ptc,
            idle_ptc,
            min: min * unit,
            max: max * unit,
            certain: if self.gentle { 2.0 * max * unit } else { max * unit },
            max_p: self.linterm.map_or(self.max_p, |inverse| 1.0 / inverse),
            weight: self.resolve_weight(ptc, link.delay, min)?,
            bottom: if self.bottom == 0.0 { (80_000.0 / link.rate.as_bps() as f64).min(0.01) } else { self.bottom },
        })
    }

    fn resolve_weight(&self, ptc: f64, delay: Duration, min: f64) -> Result<f64, ParamError> {
        if let Some(burst) = self.burst {
            return tc_weight(f64::from(burst), min).ok_or_else(|| ParamError::new("burst", &burst, TC_BURST));
        }
        let automatic = |packets: f64| -libm::expm1(-1.0 / packets);
        Ok(match self.weight {
            0.0 => automatic(ptc),
            -1.0 => automatic(10.0 * ptc * (3.0 * (delay.as_secs_f64() + 1.0 / ptc)).max(0.1)),
            -2.0 => automatic(ptc / 10.0),
            weight => weight,
        })
    }

    fn check_ranges(&self) -> Result<(), ParamError> {
        const LENGTH: &str = "a number of packets, 0 (automatic) or more";
        const SHARE: &str = "a number above 0, up to 1";
        let length = |v: f64| (0.0..1e9).contains(&v);
        let share = |v: f64| v > 0.0 && v <= 1.0;
        let defaults = Params::default();
        ParamError::unless(length(self.min), "min", &self.min, LENGTH)?;
        ParamError::unless(length(self.max), "max", &self.max, LENGTH)?;
        ParamError::unless(share(self.max_p), "max_p", &self.max_p, SHARE)?;
        if let Some(inverse) = self.linterm {
            ParamError::unless((1.0..1e18).contains(&inverse), "linterm", &inverse, "a number of 1 or more, the inverse of max_p")?;
            ParamError::unless(self.max_p == defaults.max_p, "linterm", &inverse, "either linterm or max_p, not both")?;
        }
        let weight = share(self.weight) || [0.0, -1.0, -2.0].contains(&self.weight);
        ParamError::unless(weight, "weight", &self.weight, "a number above 0, up to 1, or 0, -1 or -2 for an automatic one")?;
        if let Some(burst) = self.burst {
            ParamError::unless(self.weight == defaults.weight, "burst", &burst, "either burst or weight, not both")?;
        }
        let idle_packet = self.idle_packet.0;
        ParamError::unless((1..=1_000_000).contains(&idle_packet), "idle_packet", &idle_packet, "1 B to 1 MB")?;
        ParamError::unless(self.mark_p >= 0.0 && self.mark_p.is_finite(), "mark_p", &self.mark_p, "a number of 0 or more")?;
        ParamError::unless(self.cautious <= 3, "cautious", &self.cautious, "0, 1, 2 or 3")?;
        self.check_adaptive()
    }

    fn check_adaptive(&self) -> Result<(), ParamError> {
        let share = |v: f64| v > 0.0 && v <= 1.0;
        ParamError::unless(share(self.top), "top", &self.top, "a number above 0, up to 1")?;
        ParamError::unless(self.bottom == 0.0 || share(self.bottom), "bottom", &self.bottom, "0 (automatic) to 1")?;
        ParamError::unless(share(self.alpha), "alpha", &self.alpha, "a number above 0, up to 1")?;
        ParamError::unless(share(self.beta) && self.beta < 1.0, "beta", &self.beta, "a number above 0 and below 1")?;
        let factor = |v: f64| v > 1.0 && v <= 1e3;
        ParamError::unless(factor(self.feng_alpha), "feng_alpha", &self.feng_alpha, "a divisor above 1 (Feng recommends 3)")?;
        ParamError::unless(factor(self.feng_beta), "feng_beta", &self.feng_beta, "a factor above 1 (Feng recommends 2)")
    }
}

/// The expected range of bursts in the error, those for which [`tc_weight`] has a weight.
pub(crate) const TC_BURST: &str = "a burst of enough packets to fill an empty queue to min, and fewer than a billion";

/// The weight that tc derives from a burst (tc-red(8), iproute2 `tc_red_eval_ewma`).
/// It is the greatest power of 1/2 at which a burst of this many packets into an empty queue leaves the average below `min`; `None` if no
/// such weight exists.
pub(crate) fn tc_weight(burst: f64, min: f64) -> Option<f64> {
    tc_weight_log(burst, min).map(|log| libm::ldexp(1.0, -i32::from(log)))
}

/// The logarithm to the base of 2 of the inverse of [`tc_weight`].
pub(crate) fn tc_weight_log(burst: f64, min: f64) -> Option<u8> {
    let excess = burst + 1.0 - min;
    let fits = |log: &u8| {
        let weight = libm::ldexp(1.0, -i32::from(*log));
        excess <= (1.0 - libm::pow(1.0 - weight, burst)) / weight
    };
    (1..32).find(fits).filter(|_| excess >= 1.0)
}
