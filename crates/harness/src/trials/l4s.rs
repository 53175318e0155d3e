//! Rules of scalable controllers (rfc9331#4).

use super::recovery::undisturbed;
use super::view::{Fall, View};
use super::{Broken, FLOW, HOST, Law, Trial, Verdict, wide};
use crate::endpoint::Ecn;
use crate::network::Dumbbell;
use crate::script::Fate;
use std::time::Duration;

/// The time at which the rate of `l4s_signals` quadruples.
const CHANGE: Duration = Duration::from_secs(10);
/// The time that counts before it and at the end.
const COUNTED: Duration = Duration::from_secs(5);
/// The factor by which marks in a round trip may differ.
/// With Reno's response they differ as the rates do, by 4.
const INVARIANT: f64 = 2.0;
/// Marks come from the controller of the queue alone: a step would mark whole windows.
const PI: &str = "target = \"2 ms\", step_thresh = \"1 s\"";
/// The part of the window that a response to a loss may leave: CUBIC's, and rounding.
const COEXISTS: f64 = 0.75;
/// The part of the path that a flow may take beside one of CUBIC in the same queue.
const FAIR: f64 = 0.8;

/// The trials.
pub(super) const TRIALS: &[Trial] = &[
    Trial {
        name: "l4s_identifier",
        rule: "rfc9331#4.1, a scalable sender marks its packets ECT(1)",
        laws: &[Law::Scalable],
        network: || wide("40 ms", "1 s"),
        script: |harness| harness,
        steps: &[],
        judge: |view, _| identifier(view).into(),
    },
    Trial {
        name: "l4s_signals",
        rule: "rfc9331#4.3, the marks in a round trip do not depend on the rate",
        laws: &[Law::Scalable],
        network: || {
            let network = Dumbbell::new("20 Mbit/s", "20 ms").queue("dualpi2").parameters(PI).limit("1000 packets").ecn().duration("20 s");
            network.change("10 s", "rate = \"80 Mbit/s\"").flow("trial", HOST)
        },
        script: |harness| harness,
        steps: &[],
        judge: |view, _| signals(view).into(),
    },
    Trial {
        name: "l4s_loss",
        rule: "rfc9331#4.3, a loss reduces the window as far as coexistence with Reno needs",
        laws: &[Law::Scalable],
        network: || wide("40 ms", "3 s"),
        script: |harness| harness.on_data(FLOW, 150..=150, Fate::Drop),
        steps: &[],
        judge: |view, _| loss(view).into(),
    },
    Trial {
        name: "l4s_fallback",
        rule: "rfc9331#4.3, where the queue marks as for classic senders, the flow leaves a fifth of the path to one of CUBIC",
        laws: &[Law::Scalable],
        network: || {
            let network = Dumbbell::new("20 Mbit/s", "40 ms").queue("codel").limit("1000 packets").ecn().duration("30 s");
            let ecn = "tcp = { profile = \"linux\", ecn = true, control = { cc = \"cubic\" } }";
            network.flow("trial", HOST).with_flow("classic", ecn)
        },
        script: |harness| harness,
        steps: &[],
        judge: |view, _| fallback(view).into(),
    },
    Trial {
        name: "l4s_reordering",
        rule: "rfc9331#4.3, a packet that five later ones overtake within a quarter of a round trip is not lost",
        laws: &[Law::Scalable],
        network: || wide("40 ms", "1 s"),
        script: |harness| harness.on_data(FLOW, 150..=150, Fate::Behind(5)),
        steps: &[],
        judge: |view, _| undisturbed(view),
    },
];

impl From<Result<Verdict, Broken>> for Verdict {
    fn from(result: Result<Verdict, Broken>) -> Verdict {
        result.unwrap_or_else(Verdict::from)
    }
}

/// Packets of full size are data; the handshake may be without ECN.
fn identifier(view: &View<'_>) -> Result<Verdict, Broken> {
    let full = view.data.iter().filter(|data| data.size == view.mss);
    let count = full.clone().count();
    match full.clone().find(|data| data.ecn != Ecn::Ect1) {
        Some(data) => Err(Broken { at: data.sent, why: format!("expected ECT(1), got {:?}", data.ecn) }),
        None => Ok(Verdict::Pass(count)),
    }
}

/// The marked packets in a round trip, from one time to another.
fn marks(view: &View<'_>, from: Duration, until: Duration) -> f64 {
    let marked = view.data.iter().filter(|data| data.marked && (from..until).contains(&data.sent)).count();
    marked as f64 * view.rtt_at(from).as_secs_f64() / (until - from).as_secs_f64()
}

fn signals(view: &View<'_>) -> Result<Verdict, Broken> {
    let [slow, fast] = [COUNTED, CHANGE + COUNTED].map(|from| marks(view, from, from + COUNTED));
    let why = || {
        format!(
            "expected as many marks in a round trip at 20 and at 80 Mbit/s, within a factor of {INVARIANT}, got {slow:.2} and {fast:.2}"
        )
    };
    match (slow > 0.0 || fast > 0.0, fast * INVARIANT >= slow && slow * INVARIANT >= fast) {
        (false, _) => Ok(Verdict::NotApplicable("no packet was marked: the sender is not ECN-capable".into())),
        (_, true) => Ok(Verdict::Pass(2)),
        (_, false) => Err(Broken { at: CHANGE + COUNTED, why: why() }),
    }
}

fn loss(view: &View<'_>) -> Result<Verdict, Broken> {
    let falls = view.falls();
    let Some(lost) = view.signals().find_map(|data| data.dropped) else { return Ok(Verdict::NotApplicable("no packet was lost".into())) };
    match falls.iter().find(|fall: &&Fall| fall.at >= lost) {
        None => Err(Broken { at: lost, why: "expected a smaller window after the loss, got none".into() }),
        Some(fall) => {
            let (factor, at) = (fall.after as f64 / fall.before as f64, fall.at);
            let why = format!("expected at most {COEXISTS} of the window, got {factor:.3} ({} to {} bytes)", fall.before, fall.after);
            if factor <= COEXISTS { Ok(Verdict::Pass(1)) } else { Err(Broken { at, why }) }
        }
    }
}

fn fallback(view: &View<'_>) -> Result<Verdict, Broken> {
    let half = view.end / 2;
    let part = 8.0 * view.arrived_between(half, view.end) as f64 / (view.end - half).as_secs_f64() / 2e7;
    match part <= FAIR {
        true => Ok(Verdict::Pass(1)),
        false => Err(Broken { at: view.end, why: format!("expected at most {FAIR} of the path in the second half, got {part:.2}") }),
    }
}
