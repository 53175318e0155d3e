//! Runs with equal beginnings share them, and each has the results that it has alone.

use sojourn_lab::{Error, Job, Laws, Outcome, run, run_many};
use sojourn_scenario::{Checked, Document, Varying};
use sojourn_units::{Duration, Rate};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn job(text: &str, seed: u64) -> Job {
    let scenario = Document::from_toml("alike.toml", text).unwrap().check().unwrap_or_else(|error| panic!("{error}"));
    Job { scenario: Arc::new(scenario), seed: Some(seed), laws: Laws::default() }
}

/// TCP flows from the start, and later flows with these options.
/// The later flows are a group, a session and a receiver-driven flow.
fn scenario(seed: u64, early: &str, later: &str, web: &str) -> Job {
    let text = format!(
        r#"
duration = "12 s"
warmup = "5 s"
[tcp]
profile = "ns2-linux"
[[links]]
name = "bottleneck"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "20 ms"
duplex = true
queue = {{ aqm = "red", limit = "60 packets", ecn = true }}
[[flows]]
name = "early"
count = 3
from = "a"
to = "b"
start = {{ spread = ["0 s", "2 s"] }}
tcp = {{ {early} }}
[[flows]]
name = "later"
count = 3
from = "a"
to = "b"
start = {{ uniform = ["6 s", "8 s"] }}
access = {{ rate = "100 Mbit/s", delay = {{ uniform = ["0 ms", "3 ms"] }} }}
tcp = {{ {later} }}
[[flows]]
name = "web"
from = "b"
to = "a"
start = "4 s"
traffic = {{ kind = "web", page_gap = "100 ms", objects = 3, object_mean = 8.0, object_shape = 1.5, request = "200 B" }}
tcp = {{ {web} }}
[trace]
queue = {{ links = ["bottleneck"], every = "100 ms" }}
cwnd = {{ flows = ["*"], every = "100 ms" }}
throughput = {{ flows = ["*"], every = "1 s" }}
"#
    );
    job(&text, seed)
}

fn alone(job: &Job) -> Outcome {
    run(&job.scenario, job.seed, &job.laws, &|| false).unwrap()
}

/// The results of all jobs in order, and the number of calls of `stop`.
/// The batch calls `stop` once per some thousand events.
fn together(jobs: &[Job], threads: usize) -> (Vec<Outcome>, usize) {
    let (done, asked) = (Mutex::new(vec![None; jobs.len()]), AtomicUsize::new(0));
    let stop = || {
        asked.fetch_add(1, Ordering::Relaxed);
        false
    };
    run_many(jobs, threads, &stop, &|index, outcome| done.lock().unwrap()[index] = Some(outcome.unwrap()));
    (done.into_inner().unwrap().into_iter().map(Option::unwrap).collect(), asked.into_inner())
}

fn text(outcome: &Outcome) -> String {
    format!("{:?}{:?}", outcome.record, outcome.series)
}

const OPTIONS: [&str; 6] = [
    r#"control = { cc = "ledbat" }"#,
    r#"control = { cc = "flower" }, initial_window = 1"#,
    r#"control = { cc = "cubic" }, recovery = "sack""#,
    r#"delayed_ack = "200 ms", timestamps = true, ecn = true"#,
    r#"mss = "500 B", initial_window = 10"#,
    r#"handshake = "threeway", min_rto = "1 s""#,
];

#[test]
fn a_run_beside_others_that_begin_alike_is_the_run_alone() {
    let mut jobs = Vec::new();
    for seed in 1..4 {
        for later in OPTIONS {
            jobs.push(scenario(seed, r#"control = { cc = "reno" }"#, later, ""));
        }
        jobs.push(scenario(seed, r#"control = { cc = "cubic" }"#, OPTIONS[0], ""));
        jobs.extend(OPTIONS.map(|web| scenario(seed, r#"control = { cc = "reno" }"#, OPTIONS[2], web)));
    }
    for threads in [1, 3] {
        for (job, together) in jobs.iter().zip(together(&jobs, threads).0) {
            assert_eq!(text(&alone(job)), text(&together), "seed {:?} of {:?}", job.seed, job.scenario.groups);
        }
    }
}

#[test]
fn what_runs_have_in_common_is_run_once() {
    let several = OPTIONS.map(|later| {
        let mut job = scenario(1, "", later, "");
        let scenario = Arc::make_mut(&mut job.scenario);
        scenario.links.iter_mut().for_each(|link| link.rate = Rate::from_bps(100_000_000));
        scenario.groups[0].count = 20;
        scenario.duration = Duration::from_secs(8);
        job
    });
    let apart: usize = several.iter().map(|job| together(std::slice::from_ref(job), 1).1).sum();
    // The differing flows start after three quarters of the run. Together this is 2.25 runs of 6, and each part calls `stop` once more.
    let asked = together(&several, 1).1;
    assert!(asked < apart * 2 / 3, "asked {asked} times together, {apart} times apart");
}

/// TCP flows at fixed times, and flows at random times with these options.
/// Only the queue draws other random numbers.
fn quiet(seed: u64, queue: &str, early: &str, later: &str) -> Job {
    let text = format!(
        r#"
duration = "9 s"
warmup = "5 s"
[tcp]
profile = "ns2-linux"
[[links]]
name = "bottleneck"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "20 ms"
duplex = true
queue = {{ {queue} }}
[[flows]]
name = "early"
count = 3
from = "a"
to = "b"
start = {{ spread = ["0 s", "2 s"] }}
tcp = {{ {early} }}
[[flows]]
name = "later"
count = 3
from = "a"
to = "b"
start = {{ uniform = ["6 s", "7 s"] }}
tcp = {{ {later} }}
[[flows]]
name = "last"
from = "a"
to = "b"
start = "8 s"
traffic = {{ kind = "poisson", rate = "100 kbit/s", size = "500 B" }}
[trace]
cwnd = {{ flows = ["early/0", "later/0"], every = "100 ms" }}
"#
    );
    job(&text, seed)
}

const DRAWS_NOTHING: &str = r#"aqm = "droptail", limit = "60 packets""#;
const DRAWS: &str = r#"aqm = "pi", limit = "60 packets""#;
const DRAWS_LATE: &str = r#"aqm = "red", min = 45, max = 90, limit = "60 packets""#;

#[test]
#[ignore = "6 s: `make slow-test`"]
fn runs_of_several_seeds_begin_alike_and_each_is_the_run_alone() {
    // The phase of a clock is drawn too, if it matters.
    let early = [r#"control = { cc = "reno" }"#, r#"timestamps = false, tick = "10 ms""#];
    let mut jobs = Vec::new();
    for queue in [DRAWS_NOTHING, DRAWS, DRAWS_LATE, r#"aqm = "codel""#] {
        for (early, later) in early.iter().flat_map(|early| OPTIONS.map(|later| (early, later))) {
            jobs.extend((1..4).map(|seed| quiet(seed, queue, early, later)));
        }
    }
    for start in [6, 7] {
        let mut job = quiet(1, DRAWS_NOTHING, early[0], OPTIONS[0]);
        Arc::make_mut(&mut job.scenario).groups[1].start = Varying::One(Duration::from_secs(start));
        jobs.push(job);
    }
    for threads in [1, 3] {
        for (job, together) in jobs.iter().zip(together(&jobs, threads).0) {
            assert_eq!(text(&alone(job)), text(&together), "seed {:?} of {:?}", job.seed, job.scenario);
        }
    }
}

#[test]
fn seeds_have_nothing_in_common_if_an_impairment_draws() {
    let lossy = |seed| {
        let mut job = quiet(seed, DRAWS_NOTHING, "", OPTIONS[0]);
        let impairments = &mut Arc::make_mut(&mut job.scenario).links[0].impairments;
        impairments.push(sojourn_link::kinds::duplication::Params { probability: 1e-9 }.into());
        job
    };
    let jobs: Vec<Job> = (1..9).map(lossy).collect();
    let apart: usize = jobs.iter().map(|job| together(std::slice::from_ref(job), 1).1).sum();
    assert!(together(&jobs, 1).1 * 10 > apart * 9, "an impairment draws for each packet");
}

#[test]
fn what_seeds_have_in_common_is_run_once_unless_something_is_drawn() {
    let share = |queue, early| {
        let busy = |seed| {
            let mut job = quiet(seed, queue, early, OPTIONS[0]);
            let scenario = Arc::make_mut(&mut job.scenario);
            scenario.links.iter_mut().for_each(|link| link.rate = Rate::from_bps(100_000_000));
            scenario.groups[0].count = 20;
            job
        };
        let jobs: Vec<Job> = (1..9).map(busy).collect();
        let apart: usize = jobs.iter().map(|job| together(std::slice::from_ref(job), 1).1).sum();
        together(&jobs, 1).1 as f64 / apart as f64
    };
    // Flows at random times start after two thirds of the run.
    let (quiet, drawn, clocks) =
        (share(DRAWS_NOTHING, ""), share(DRAWS, ""), share(DRAWS_NOTHING, r#"timestamps = false, tick = "10 ms""#));
    assert!(quiet < 0.6 && drawn > 0.9 && clocks > 0.9, "{quiet} where nothing is drawn, {drawn} under PI, {clocks} with clocks");
    // Queues that hold their packets: FQ-CoDel draws nothing, and CHOKe nothing below its threshold.
    let [flows, late] = [r#"aqm = "fq-codel""#, r#"aqm = "choke", min = 900, max = 950"#].map(|queue| share(queue, ""));
    assert!(flows < 0.6 && late < 0.6, "{flows} under FQ-CoDel, {late} under CHOKe");
}

#[test]
fn a_family_has_all_seeds_if_its_traffic_is_drawn_late() {
    let beginning = |job: &Job, seed| job.scenario.beginnings([seed]).and_then(|mut keys| keys.next());
    let job = quiet(1, DRAWS_NOTHING, "", "");
    assert_eq!(beginning(&job, 1), beginning(&job, 2));
    let mut early = job.clone();
    Arc::make_mut(&mut early.scenario).groups[1].start = Varying::Uniform([Duration::ZERO, Duration::from_secs(7)]);
    assert_ne!(beginning(&early, 1), beginning(&early, 2));
    let mut stops = job.clone();
    Arc::make_mut(&mut stops.scenario).groups[0].stop = Some(Varying::Uniform([Duration::from_secs(7), Duration::from_secs(8)]));
    assert_ne!(beginning(&stops, 1), beginning(&stops, 2));
    let web = scenario(1, "", "", "");
    assert_ne!(beginning(&web, 1), beginning(&web, 2));
}

#[test]
fn runs_have_a_beginning_in_common_if_all_differs_later() {
    let beginning = |scenario: &Checked, seed| scenario.beginnings([seed]).and_then(|mut keys| keys.next());
    let usual = scenario(1, "", OPTIONS[0], "").scenario;
    let key = beginning(&usual, 1);
    assert_eq!(key, beginning(&scenario(1, "", OPTIONS[1], OPTIONS[2]).scenario, 1));
    assert_ne!(key, beginning(&usual, 2));
    let mut longer = Checked::clone(&usual);
    longer.duration = longer.duration * 2;
    assert_ne!(key, beginning(&longer, 1));
    let mut from_the_start = Checked::clone(&usual);
    from_the_start.groups.drain(1..);
    from_the_start.groups[0].start = Varying::One(Duration::ZERO);
    assert_eq!(beginning(&from_the_start, 1), None);
}

#[test]
fn a_stop_ends_every_member_of_a_family() {
    let jobs = OPTIONS.map(|later| scenario(1, "", later, ""));
    let (asked, stopped) = (AtomicUsize::new(0), AtomicUsize::new(0));
    run_many(&jobs, 1, &|| asked.fetch_add(1, Ordering::Relaxed) > 1, &|_, outcome| {
        assert_eq!(outcome.unwrap_err(), Error::Stopped);
        stopped.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(stopped.into_inner(), jobs.len());
}
