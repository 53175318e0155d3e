"""Tests malformed files: each is read or rejected in one line.

Damaged data is never accepted.

`python -m conformance.malformed --count N --seed S` mutates scenarios, sweeps, papers' files, traces, records and
entries of the store, and reads each as the commands do. The mutations include texts of very many or deeply nested
values, compressed files that expand to megabytes, traces with very many rows, and endless devices. The first
traceback, or a file that takes more than `PATIENCE` or `MEMORY`, ends it with exit code 1; the file stays in
`target/malformed`. The same count and seed produce the same files.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gzip
import hashlib
import io
import random
import re
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import sojourn as sj
from conformance.foreign_captures import foreign_captures
from conformance.foreign_flent import flent_results
from sojourn.cli import main as command
from sojourn.core.errors import Note, ScenarioError, UserError
from sojourn.core.record_files import pack_series
from sojourn.experiments import load_experiment
from sojourn.experiments.expression import UnknownNameError, evaluate
from sojourn.experiments.functions import all_functions
from sojourn.experiments.outcome import Outcome
from sojourn.exports.flent import write_flent
from sojourn.imports.link_traces import summary
from sojourn.runs.store import DamagedError, Store, engine_identity, pack_entry, unpack_entry
from sojourn.sweep.plan import read_plan

ROOT = Path(__file__).resolve().parents[1]
PAPER = ROOT / "papers" / "lehto-2005"
KEPT = ROOT / "target" / "malformed"
KEY = "a" * 64
DEVICE = b"/dev/zero"
"""Instead of content: the file is a link to this endless device."""
PATIENCE = 300.0
"""Time limit in seconds for reading a file, on a busy machine."""
MEMORY = 3 << 30
"""Memory limit in bytes of the process that reads the files."""

# Two spaces are between two values.
WRITTEN = r"""
0  -1  1e400  -1e400  nan  inf  ""  "\u0000"  1_0  0x7fffffffffffffff  true  []  {}  [[]]  2026-01-01
1979-05-27T07:32:00Z  "10 Mbit/s"  "99999999999999 Gbit/s"  "-5 ms"  "1e300 s"  "../x"  "/dev/null"  "a\nb"
["a", 1]  18446744073709551616  { uniform = ["1 s", "0 s"] }  { aqm = "red", min = nan }  0.1  1e-320
"\U0010FFFF"  '''  "* "  "*"  { a = { a = { a = 1 } } }  "10**400"  "abs(1"  "0**-1"  [1, [2, [3]]]  "0 s"
"1 packets"  "65536 B"
"""
VALUES = [value for line in WRITTEN.strip().splitlines() for value in line.split("  ")]
VALUES += ["9" * 5000, '"' + "x" * 3000 + '"', "[" * 300 + "]" * 300, "[" * 3000]
PIECES = [
    b"\0",
    b"\xff",
    b"\n",
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b"=",
    b".",
    b"\\",
    b"#",
    b"'",
    b"\xef\xbb\xbf",
    b"\r",
    b"[[",
    b"\xc3",
]


@dataclass(frozen=True)
class Kind:
    """A kind of file: its examples, and the function that reads it."""

    name: str
    examples: list[bytes]
    others: list[bytes]
    read: Callable[[Path, bytes], None]
    share: int


def mutate(content: bytes, others: list[bytes], draw: random.Random) -> bytes:
    """The content with one to four mutations, or a huge one."""
    if draw.randrange(HUGE_EVERY) == 0:
        return draw.choice(HUGE)(content, others, draw)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        content = draw.choice(MISTAKES)(content, others, draw)
    return content


def _flip(content: bytes, _: list[bytes], draw: random.Random) -> bytes:
    if not content:
        return content
    changed = bytearray(content)
    changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _cut(content: bytes, _: list[bytes], draw: random.Random) -> bytes:
    start = draw.randrange(len(content) + 1)
    return content[:start] + content[start + draw.choice((1, 3, 20, 10**9)) :]


def _insert(content: bytes, _: list[bytes], draw: random.Random) -> bytes:
    at = draw.randrange(len(content) + 1)
    return content[:at] + draw.choice(PIECES) + content[at:]


def _splice(content: bytes, others: list[bytes], draw: random.Random) -> bytes:
    other = draw.choice(others)
    at, start = draw.randrange(len(content) + 1), draw.randrange(len(other) + 1)
    return content[:at] + other[start : start + draw.choice((5, 50, 500))] + content[at:]


def _lines(content: bytes, _: list[bytes], draw: random.Random) -> bytes:
    lines = content.split(b"\n")
    i, j = draw.randrange(len(lines)), draw.randrange(len(lines))
    match draw.randrange(3):
        case 0:
            lines[i], lines[j] = lines[j], lines[i]
        case 1:
            lines.insert(i, lines[j])
        case _:
            del lines[i]
    return b"\n".join(lines)


def _value(content: bytes, _: list[bytes], draw: random.Random) -> bytes:
    """Replaces a number or a text by another value."""
    found = list(re.finditer(rb'"[^"\n]*"|\b\d[\d_.e+-]*\b|\btrue\b|\bfalse\b|\{[^{}\n]*\}|\[[^][\n]*\]', content))
    if not found:
        return content
    place = draw.choice(found)
    return content[: place.start()] + draw.choice(VALUES).encode() + content[place.end() :]


def _many(content: bytes, _: list[bytes], draw: random.Random) -> bytes:
    """Repeats a part of the content or a value, up to 3 MB."""
    place = draw.randrange(len(content) + 1)
    piece = draw.choice([content[place : place + draw.choice((1, 3, 30, 300))], *REPEATED]) or b"x"
    return content[:place] + piece * draw.choice((50, 5000, 3_000_000 // len(piece))) + content[place:]


def _deep(content: bytes, _: list[bytes], draw: random.Random) -> bytes:
    """A value nested in many lists or tables."""
    place, depth = draw.randrange(len(content) + 1), draw.choice((40, 500, 200_000))
    begin, end = draw.choice([(b"[", b"]"), (b'{"a":', b"}"), (b"{a=", b"}"), (b"a.", b"a = 1")])
    return content[:place] + begin * depth + b"1" + end * depth + content[place:]


def _packed(content: bytes, _: list[bytes], draw: random.Random) -> bytes:
    """The content compressed, or a compressed text of up to 100 MB."""
    text = draw.choice([content, b"[" + draw.choice(REPEATED) * draw.choice((1000, 1_000_000, 20_000_000)) + b"0]"])
    return gzip.compress(text, 1, mtime=0)


def _device(*_: object) -> bytes:
    return DEVICE


REPEATED = [b"[],", b"{},", b"0,", b'"",', b"[[a]]\n", b"[a.b.c]\n", b"\n", b"a.b.c = 1\n", b'{"a":0},']


def _key(content: bytes, others: list[bytes], draw: random.Random) -> bytes:
    """Replaces a key by another one of the content."""
    keys = rb"(?m)^\s*([\w.\"-]+)\s*="
    found, known = list(re.finditer(keys, content)), re.findall(keys, draw.choice(others))
    if not found or not known:
        return content
    place = draw.choice(found)
    return content[: place.start(1)] + draw.choice(known) + content[place.end(1) :]


MISTAKES = [_flip, _cut, _insert, _splice, _lines, _value, _value, _value, _key]
HUGE = [_many, _many, _many, _many, _deep, _deep, _packed] + [_device] * Path(DEVICE.decode()).exists()
"""Mutations that need much time or memory; one file in `HUGE_EVERY` has one."""
HUGE_EVERY = 200


def put(file: Path, content: bytes) -> None:
    """Writes a file, or makes it a link to the device that the content names."""
    file.unlink(missing_ok=True)
    if content == DEVICE:
        file.symlink_to(DEVICE.decode())
    else:
        file.write_bytes(content)


def read_scenario(file: Path, content: bytes) -> None:
    """Reads it as `check` does, and with a change as by `--set`."""
    put(file, content)
    scenario = sj.load(file)
    scenario.canonical()
    scenario.set("links.bottleneck.rate", "5 Mbit/s").canonical()


def read_sweep(file: Path, content: bytes) -> None:
    """Reads it as `sweep` does before its first run."""
    put(file, content)
    plan = read_plan(file)
    if len(plan.jobs()) < 200:
        sum(1 for _ in plan.jobs())


def read_paper(file: Path, content: bytes) -> None:
    """Reads it as `reproduce` does before its first run, and the expressions of the claims."""
    put(file, content)
    experiment = load_experiment(file.parent)
    for grid in list(experiment.grids.values())[:2]:
        for case in grid.cases()[:2]:
            experiment.scenario(case, grid.quick_set).canonical()
    outcome = Outcome(experiment, [], [1], {})
    functions = dict.fromkeys(all_functions(outcome), lambda *_: 1.0)
    for claim in experiment.claims[:50]:
        for part in claim.parts[:5]:
            with contextlib.suppress(UnknownNameError):
                evaluate(part.measure, lambda _: 1.0, functions)


def _sums(folder: Path) -> None:
    lines = [f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in folder.iterdir() if f.name[0] != "S"]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def read_record(file: Path, content: bytes) -> None:
    """Reads it as `plot` reads a record; half of the contents have correct checksums."""
    put(file, content)
    if sum(content) % 2 and content != DEVICE:
        _sums(file.parent)
    record = sj.Record.read(file.parent)
    record.scalars()
    for name in ("links.bottleneck.queue.mean", "flows.*.rtt_ms.mean", "total.jain"):
        record.value(name)
    repr(record)


def read_measured(file: Path, content: bytes) -> None:
    """Reads it as `import` does."""
    put(file, content)
    sj.import_file(file)


def read_foreign(file: Path, content: bytes) -> None:
    """Reads it as `import` does with a round-trip time, which some files do not contain."""
    put(file, content)
    sj.import_file(file, rtt="20 ms")


def read_trace(file: Path, content: bytes) -> None:
    """Reads it as `trace show` does."""
    put(file, content)
    summary(file, None, 60)


def _traces() -> list[Kind]:
    """Traces of links in each format.

    They include traces that the crate `netem-trace` writes.
    """
    tables, foreign = _contents("examples/traces/*.csv"), [*NETEM, *_contents("examples/traces/*.json")]
    return [
        Kind("trace.csv", [table[:2000] for table in tables] + [b"0, 1\n1, 2\n"], tables, read_trace, 4),
        Kind("trace.up", [b"0\n3\n3\n7\n"], _contents("examples/traces/*.up"), read_trace, 2),
        Kind("trace.json", foreign, foreign, read_trace, 8),
    ]


NETEM = [
    b"""{"RepeatedBwPatternConfig":{"pattern":[
{"TraceBwConfig":{"pattern":[[{"secs":0,"nanos":0},["1Mbps"]],[{"secs":0,"nanos":1},["1Mbps","2Mbps"]]]}},
{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{}}],"count":1000000000}},
{"SawtoothBwConfig":{"bottom":"1Mbps","top":{"gbps":1,"bps":5},"interval":"1s","duration":"10s","step":"1ms"}}],
"count":1000000000}}""",
    b'{"RepeatedBwPatternConfig":{"pattern":[{"TraceBwConfig":{"pattern":[["1ms",["2Mbps","0bps"]]]}}],"count":0}}',
    b'{"SawtoothBwConfig":{"duration":{"secs":1000000,"nanos":0},"step":{"secs":0,"nanos":1},"duty_ratio":0.8}}',
    b'{"StaticBwConfig":{"bw":{"gbps":0,"bps":12000000},"duration":{"secs":1,"nanos":0}}}',
]


def _measured() -> list[Kind]:
    """A capture and a result of Flent, compressed and not.

    The results have the form of Flent's own tests.
    """
    short = sj.load(ROOT / "examples" / "dumbbell.toml").copy().set_all({"duration": "150 ms", "warmup": "0 s"})
    short.set("flows.ftp.count", 2).set("flows.ftp.start", "0 s")
    rrul = sj.load(ROOT / "examples" / "rrul.toml").copy().set("duration", "7 s")
    with tempfile.TemporaryDirectory() as name:
        capture, flent = Path(name) / "run.pcapng", Path(name) / "run.flent.gz"
        sj.run(short, pcap=capture)
        packed = write_flent(sj.run(rrul), flent).read_bytes()
        captures, results = [capture.read_bytes(), *foreign_captures()], [packed, gzip.decompress(packed)]
    return [
        Kind("measured.pcapng", captures, captures, read_measured, 5),
        Kind("measured.flent.gz", results, results, read_measured, 3),
        Kind("foreign.flent", flent_results(), flent_results(), read_foreign, 10),
    ]


def read_entry(_: Path, content: bytes) -> None:
    """Reads it as the store reads an entry; an accepted entry must equal the original."""
    try:
        unpack_entry(content, KEY, engine_identity())
    except DamagedError as error:
        raise UserError(str(error)) from None
    if content not in ENTRIES:
        raise AssertionError("a damaged entry was believed")


def read_forged(file: Path, content: bytes) -> None:
    """Reads an entry of the store with the correct checksum and an invalid record."""
    store = Store(file.parent / "cache")
    store.put(KEY, content.decode("utf-8", errors="replace"), {})
    if store.get(KEY) is None:
        raise UserError(store.notes[0])


ENTRIES: list[bytes] = []


def _all(*patterns: str) -> list[Path]:
    """The files of the repository that match the patterns."""
    return sorted(file for pattern in patterns for file in ROOT.glob(pattern))


def _contents(pattern: str) -> list[bytes]:
    return [file.read_bytes() for file in _all(pattern)]


def kinds() -> list[Kind]:
    """Every kind of file with its examples."""
    scenarios = [
        f.read_bytes() for f in _all("examples/*.toml", "crates/scenario/tests/valid.toml", "papers/*/scenarios/*")
    ]
    sweeps = [f.read_bytes() for f in _all("examples/sweep.toml")] + [SWEEP]
    small = sj.load(ROOT / "examples" / "dumbbell.toml").copy().set_all({"duration": "2 s", "warmup": "1 s"})
    small.set("flows.ftp.count", 2).set("trace.queue", {"links": ["bottleneck"], "every": "500 ms"})
    record = sj.run(small)
    packed = (b"", pack_series(record.series))
    ENTRIES.extend(pack_entry(KEY, engine_identity(), record.to_json(), arrays) for arrays in packed)
    json = [record.to_json().encode()]
    return [
        Kind("scenario.toml", scenarios, scenarios, read_scenario, 50),
        Kind("sweep.toml", sweeps, [*sweeps, *scenarios], read_sweep, 15),
        *(_experiment_file(name) for name in ("experiment", "claims", "deviations")),
        Kind("result/record.json", json, json, read_record, 15),
        Kind("entry", ENTRIES, ENTRIES, read_entry, 14),
        Kind("forged", json, json, read_forged, 2),
        *_measured(),
        *_traces(),
    ]


def _experiment_file(name: str) -> Kind:
    """A file of the paper whose folder `prepare` copies.

    Mutations insert pieces of the other papers' files.
    """
    others = [file.read_bytes() for file in _all(f"papers/*/{name}.toml")]
    return Kind(
        f"paper/{name}.toml", [(PAPER / f"{name}.toml").read_bytes()], others, read_paper, 1
    )  # a paper takes twenty times as long as a scenario


SWEEP = b"""scenario = "dumbbell.toml"
replications = 2
[variants.queue]
short = { "links.bottleneck.queue.limit" = "20 packets" }
red = { "links.bottleneck.queue" = { aqm = "red", limit = "100 packets" } }
[axes]
"flows.ftp.count" = [1, 2]
"links.bottleneck.rate" = ["1 Mbit/s", "10 Mbit/s"]
"""


def prepare(folder: Path) -> None:
    """Copies the unmutated files of the folder."""
    shutil.copytree(ROOT / "examples", folder, dirs_exist_ok=True)
    shutil.copytree(PAPER, folder / "paper")
    (folder / "result").mkdir()


def say_or_fail(read: Callable[[Path, bytes], None], file: Path, content: bytes) -> str:
    """Reads content; returns "read", "refused", or the traceback."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            read(file, content)
    except (UserError, ScenarioError) as error:
        return "refused" if "\n" not in str(error) and str(error) else f"a refusal that is not one line: {error!r}"
    except Exception:
        return traceback.format_exc()
    return "read"


def by_command(name: str, file: Path) -> str:
    """Reads content through the command line: exit code 0 or 2, with one line."""
    arguments = {
        "scenario.toml": ["check", str(file)],
        "result/record.json": ["plot", str(file.parent)],
        "trace.json": ["trace", "show", str(file)],
        "measured.pcapng": ["import", str(file), "--out", str(file.parent / "imported.toml")],
        "foreign.flent": ["import", str(file), "--out", str(file.parent / "imported.toml"), "--rtt", "20 ms"],
    }.get(name)
    if arguments is None:
        return "read"
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = command(arguments)
    except BaseException:
        return traceback.format_exc()
    if code not in (0, 2) or (code == 2 and err.getvalue().count("\n") != 1):
        return f"exit code {code}: {err.getvalue()}"
    return "read"


def hunt(count: int, seed: int, every: int = 200) -> Counter[str]:
    """Reads `count` malformed files, one in `every` as a command too.

    Raises AssertionError for the first fault.
    """
    draw, seen = random.Random(seed), Counter[str]()
    chosen = kinds()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        folder = Path(name)
        prepare(folder)
        for number in range(count):
            kind = draw.choices(chosen, [each.share for each in chosen])[0]
            content = mutate(draw.choice(kind.examples), kind.others, draw)
            file = folder / kind.name
            kept = file.read_bytes() if kind.name.startswith("paper/") else None
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            said = say_or_fail(kind.read, file, content)
            if said in ("read", "refused") and number % every == 0:
                found = by_command(kind.name, file)
                said = said if found == "read" else found
            faulthandler.cancel_dump_traceback_later()
            if kept is not None:
                put(file, kept)
            seen[f"{kind.name}: {said}" if said in ("read", "refused") else said] += 1
            if said not in ("read", "refused"):
                KEPT.mkdir(parents=True, exist_ok=True)
                (KEPT / f"{seed}-{number}-{Path(kind.name).name}").write_bytes(content)
                raise AssertionError(f"file {number} of seed {seed}, a {kind.name}: {said}")
    return seen


def main() -> int:
    """The command."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--count", type=int, default=10_000)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    started = time.monotonic()
    warnings.simplefilter("ignore", Note)
    with contextlib.suppress(ImportError):  # Windows
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    try:
        seen = hunt(chosen.count, chosen.seed)
    except AssertionError as fault:
        print(fault, file=sys.stderr)
        return 1
    for what, times in sorted(seen.items()):
        print(f"{times:9,} {what}")
    print(
        f"{chosen.count:9,} malformed files without a traceback, seed {chosen.seed}, {time.monotonic() - started:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
