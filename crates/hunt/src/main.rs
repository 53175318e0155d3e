//! `make hunt`: executes random worlds.
//! It continues where it stopped, and prints the smallest scenario that violates a promise.

use rayon::prelude::*;
use sojourn_hunt::{Fate, Fault, Way, World, hunt, shrink, world};
use sojourn_units::bytes_hash;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

/// The number of worlds between two writes of the state.
const BATCH: usize = 100;

const USAGE: &str =
    "usage: sojourn-hunt [--first SEED] [--count N] [--events N] [--folder FOLDER] [--compare BUILD] [--show] [--fresh] [--file FILE]
  --first   the first seed; default 0
  --count   how many worlds; default 10000
  --events  about how many events each of them has; default 5000
  --folder  where the state and what was found is kept; default target/hunt
  --compare a build, debug or release, whose fingerprints must be the same
  --show    prints the worlds instead of running them
  --fresh   forgets what was done before
  --file    runs the scenario of this file in every way, and no other";

/// The options of the command line.
struct Options {
    first: u64,
    count: u64,
    events: u64,
    folder: PathBuf,
    compare: Option<String>,
    show: bool,
    fresh: bool,
    file: Option<PathBuf>,
}

impl Options {
    fn read(mut given: impl Iterator<Item = String>) -> Option<Options> {
        let folder = PathBuf::from("target/hunt");
        let mut options = Options { first: 0, count: 10_000, events: 5_000, folder, compare: None, show: false, fresh: false, file: None };
        while let Some(key) = given.next() {
            match key.as_str() {
                "--first" => options.first = given.next()?.parse().ok()?,
                "--count" => options.count = given.next()?.parse().ok()?,
                "--events" => options.events = given.next()?.parse().ok()?,
                "--folder" => options.folder = PathBuf::from(given.next()?),
                "--compare" => options.compare = Some(given.next()?),
                "--show" => options.show = true,
                "--fresh" => options.fresh = true,
                "--file" => options.file = Some(PathBuf::from(given.next()?)),
                _ => return None,
            }
        }
        Some(options)
    }

    /// The file of a build.
    /// It has a line per world: its seed, the fingerprint and the hash of its record.
    fn state(&self, build: &str) -> PathBuf {
        self.folder.join(format!("{build}-{}.txt", self.events))
    }

    fn seeds(&self) -> std::ops::Range<u64> {
        self.first..self.first.saturating_add(self.count)
    }
}

/// The name of this build.
const BUILD: &str = if cfg!(debug_assertions) { "debug" } else { "release" };

/// Finished worlds by seed, as lines of the state file.
/// The first line of the file identifies the program, because another program is another engine.
type Done = BTreeMap<u64, String>;

fn main() -> ExitCode {
    let Some(options) = Options::read(env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match hunt_all(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{}: {error}", options.folder.display());
            ExitCode::FAILURE
        }
    }
}

/// Executes the worlds. Returns whether every world satisfies every promise.
fn hunt_all(options: &Options) -> std::io::Result<bool> {
    if let Some(file) = &options.file {
        return hunt_file(file, options.events);
    }
    if options.show {
        options.seeds().for_each(|seed| println!("{}", world(seed).text()));
        return Ok(true);
    }
    fs::create_dir_all(&options.folder)?;
    let state = options.state(BUILD);
    let known = fs::read_to_string(&state).unwrap_or_default();
    let program = program()?;
    let same = !options.fresh && known.starts_with(&program);
    let mut done = if same { read(&known) } else { Done::new() };
    std::panic::set_hook(Box::new(|_| {}));
    let seeds: Vec<u64> = options.seeds().filter(|seed| !done.contains_key(seed)).collect();
    println!("{} worlds, {} of them done before by this program", options.count, options.count - seeds.len() as u64);
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut broken = 0;
    for batch in seeds.chunks(BATCH) {
        let fates: Vec<_> = batch.par_iter().map(|&seed| (seed, hunt(&world(seed), options.events, &Way::ALL))).collect();
        for (seed, fate) in fates {
            match fate {
                Ok(fate) => drop(done.insert(seed, line(&fate))),
                Err(fault) => {
                    broken += 1;
                    println!("seed {seed}: {}: {}", fault.promise, fault.seen);
                    if known.insert(fault.promise.clone()) {
                        show_smallest(options, seed, &fault)?;
                    }
                }
            }
        }
        write(&state, &program, &done)?;
    }
    let lines: Vec<&String> = done.range(options.seeds()).map(|(_, line)| line).collect();
    let kind = |kind: &str| lines.iter().filter(|line| line.starts_with(kind)).count();
    println!("{} ran, {} were too dense, {} were ended by the engine, {broken} broke a promise", kind("ran"), kind("dense"), kind("ended"));
    let differ = options.compare.as_ref().map_or(Ok(0), |build| compare(options, &done, build))?;
    Ok(broken + differ == 0)
}

/// Executes the scenario of a file. Returns whether it satisfies every promise.
fn hunt_file(file: &Path, events: u64) -> std::io::Result<bool> {
    let table = fs::read_to_string(file)?.parse().map_err(|error: toml::de::Error| std::io::Error::other(error.message().to_string()))?;
    let world = World::from_table(table).map_err(std::io::Error::other)?;
    match hunt(&world, events, &Way::ALL) {
        Ok(fate) => println!("{}: {}", file.display(), line(&fate)),
        Err(Fault { promise, seen }) => {
            println!("{}: {promise}: {seen}", file.display());
            return Ok(false);
        }
    }
    Ok(true)
}

/// Prints and stores the smallest scenario that violates the promise.
fn show_smallest(options: &Options, seed: u64, fault: &Fault) -> std::io::Result<()> {
    let (smallest, seen) = shrink(&world(seed), fault, options.events);
    let file = options.folder.join(format!("seed-{seed}.toml"));
    fs::write(&file, smallest.text())?;
    println!("{}: the smallest scenario that shows it: {}\n{}", file.display(), seen.seen, smallest.text());
    Ok(())
}

/// Returns the number of worlds whose record differs in another build.
fn compare(options: &Options, done: &Done, build: &str) -> std::io::Result<u64> {
    let (file, mut both, mut differ) = (options.state(build), 0, 0);
    let others = read(&fs::read_to_string(&file)?);
    for (seed, line) in done.range(options.seeds()) {
        let Some(other) = others.get(seed) else { continue };
        both += 1;
        if line != other {
            differ += 1;
            println!("seed {seed}: {BUILD} gives {line}, {build} gives {other}");
        }
    }
    println!("{both} worlds ran in {BUILD} and in {build}, {differ} of them differ");
    Ok(differ)
}

fn line(fate: &Fate) -> String {
    match fate {
        Fate::Ran { fingerprint, record, packets } => format!("ran {fingerprint} {record:016x} {packets}"),
        Fate::Dense => "dense".to_string(),
        Fate::Ended(why) => format!("ended {why}"),
    }
}

fn read(text: &str) -> Done {
    text.lines().filter_map(|line| line.split_once(' ')).filter_map(|(seed, line)| Some((seed.parse().ok()?, line.to_string()))).collect()
}

/// The first line of the state: an FNV-1a hash of this program.
fn program() -> std::io::Result<String> {
    Ok(format!("program {:016x}\n", bytes_hash(fs::read(env::current_exe()?)?)))
}

/// Writes the state completely or not at all.
fn write(file: &PathBuf, program: &str, done: &Done) -> std::io::Result<()> {
    let mut text = program.to_string();
    for (seed, line) in done {
        let _ = writeln!(text, "{seed} {line}");
    }
    let part = file.with_extension("part");
    fs::write(&part, text)?;
    fs::rename(part, file)
}
