"""A Linux kernel as host. Most tests replace the kernel by a program of a few lines."""

import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sojourn as sj
from sojourn.core.errors import RunError, ScenarioError, UserError
from sojourn.linux import build, guest, kernel, source
from sojourn.linux.kernel import Kernel, find_kernel, store_kernel
from sojourn.runs.runner import run_many
from tests.support.source_tree import ROOT

sys.path.insert(0, str(ROOT))
from conformance.oracles.linux import RESULTS, cells, controllers, gaps, ours, page, papers, validate

pytestmark = pytest.mark.no_libraries

SCENARIO = """
name = "five"
host = "linux"
duration = "10 s"
warmup = "2 s"
[[links]]
name = "bottleneck"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "25 ms"
duplex = true
queue = { limit = "42 packets" }
[[flows]]
name = "ftp"
from = "a"
to = "b"
count = 5
start = { spread = ["0 s", "1 s"] }
tcp = { profile = "linux" }
"""

END = struct.pack("<QBBHIQQ", 10**10, 8, 0, 0, 0, 0, 0)
"""The entry that ends a log of 10 s without packets."""


def put_kernel(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Kernel:
    """A program in the place of the kernel."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    program = kernel.cache_folder() / "kernel"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable}\n{script}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    made = Kernel(
        program, "7.3.4", "linux-source-7.3 7.3.4-1", "c" * 64, kernel.sha256_of(program), kernel.code_identity()
    )
    store_kernel(made)
    return made


def test_a_missing_kernel_is_one_line_that_says_how_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(UserError, match=r"^host: expected a Linux kernel, got none: `sojourn linux build` makes one"):
        sj.run(sj.loads(SCENARIO))


def test_a_damaged_description_of_the_kernel_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = put_kernel(tmp_path, monkeypatch, "")
    assert find_kernel() == made
    made.program.with_suffix(".json").write_text('{"version": 1}', encoding="utf-8")
    with pytest.raises(UserError, match="expected its description, got damage"):
        find_kernel()


def test_the_record_says_which_kernel_made_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = put_kernel(tmp_path, monkeypatch, f"open('log', 'wb').write({END!r})")
    record = sj.run(sj.loads(SCENARIO), seed=3)
    assert record["seed"] == 3
    assert record.value("total.goodput_bps") == 0
    assert record["host"]["version"] == "7.3.4"
    assert record["host"]["kernel_sha256"] == made.kernel_sha256
    assert "host" not in sj.run(sj.loads(SCENARIO.replace('host = "linux"', "")))


def test_the_kernel_gets_plan_and_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"import os; open('log', 'wb').write({END!r}); open('error', 'w').write(os.environ['SOJOURN_SEED'])"
    put_kernel(tmp_path, monkeypatch, f"assert 'bottleneck' in open('plan.toml').read(); {script}")
    with pytest.raises(RunError, match="the kernel stopped: 7 "):
        sj.run(sj.loads(SCENARIO), seed=7)


def test_a_kernel_of_other_code_that_fails_is_to_be_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = put_kernel(tmp_path, monkeypatch, "open('error', 'w').write('unknown field')")
    store_kernel(replace(made, code="other"))
    with pytest.raises(UserError, match=r"^host: expected a kernel of this code, got one of other code"):
        sj.run(sj.loads(SCENARIO))


@pytest.mark.parametrize(
    ("script", "error", "said"),
    [
        (
            "open('error', 'w').write('links.bottleneck: expected x, got y')",
            ScenarioError,
            "links.bottleneck: expected x",
        ),
        ("open('error', 'w').write('log: expected room on the disk, got error -28')", RunError, "room on the disk"),
        ("print('Kernel panic - not syncing: out'); raise SystemExit(1)", RunError, "exit code 1: Kernel panic"),
        ("import os; os.kill(os.getpid(), 11)", RunError, "ended with SIGSEGV"),
        ("", RunError, "stopped without a log: it said nothing"),
        ("open('error', 'w')", RunError, "the kernel stopped: it said nothing"),
        ("open('log', 'wb').write(b'x' * 40)", RuntimeError, "the log is damaged at byte 0"),
        (f"open('log', 'wb').write({END[:16]!r} + bytes([1]) * 16)", RuntimeError, "a network of other code"),
    ],
)
def test_a_kernel_that_fails_gives_one_line(
    script: str, error: type[Exception], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_kernel(tmp_path, monkeypatch, script)
    with pytest.raises(error, match=said) as found:
        sj.run(sj.loads(SCENARIO))
    assert "\n" not in str(found.value)


def test_a_kernel_without_room_on_the_disk_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_kernel(tmp_path, monkeypatch, "import os; os.abort()")
    monkeypatch.setattr(guest, "ROOM", 1 << 60)
    with pytest.raises(RunError, match=r"SIGABRT: it said nothing; .* \(TMPDIR\) has room for [0-9]+ MB, expected"):
        sj.run(sj.loads(SCENARIO))


def test_a_kernel_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_kernel(tmp_path, monkeypatch, "import time; time.sleep(6000)")
    monkeypatch.setattr(guest, "PATIENCE", 1.0)
    monkeypatch.setattr(guest, "PER_SECOND", 0.0)
    started: list[subprocess.Popen[bytes]] = []
    start = guest.Guests._start

    def noted(*arguments: Any) -> subprocess.Popen[bytes]:
        started.append(start(*arguments))
        return started[-1]

    monkeypatch.setattr(guest.Guests, "_start", noted)
    with pytest.raises(RunError, match="expected 10 s in 1 s, got no end"):
        sj.run(sj.loads(SCENARIO))
    assert started[0].returncode == -signal.SIGKILL


def has_ended(process: int) -> bool:
    """Whether a process has ended, even if nobody has read its exit code."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize(("sent", "code", "lines"), [(signal.SIGINT, 130, 1), (signal.SIGKILL, -9, 0)])
def test_a_run_that_is_interrupted_or_killed_leaves_no_kernel(
    sent: signal.Signals, code: int, lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sent == signal.SIGKILL and shutil.which("setpriv") is None:
        pytest.skip("needs setpriv")
    note = tmp_path / "pid"
    put_kernel(
        tmp_path, monkeypatch, f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(6000)"
    )
    file = tmp_path / "x.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    command = [sys.executable, "-c", "from sojourn_program import entry; entry()", "run", str(file)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while not (note.exists() and note.read_text(encoding="ascii")):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(sent)
        _, said = process.communicate()
    assert (process.returncode, len(said.splitlines())) == (code, lines), said
    # A killed process can't remove its files.
    assert len(list(tmp_path.glob("sojourn-linux-*"))) == (0 if sent == signal.SIGINT else 1)
    kernel_process = int(note.read_text(encoding="ascii"))
    for _ in range(1000):
        if has_ended(kernel_process):
            break
        time.sleep(0.01)
    assert has_ended(kernel_process)


def test_what_linux_cannot_do_is_named_before_the_kernel_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_kernel(tmp_path, monkeypatch, "raise SystemExit(9)")
    wrong = SCENARIO + 'traffic = { kind = "ping", size = "30 B" }\n'
    wrong = wrong.replace('tcp = { profile = "linux" }\n', "")
    with pytest.raises(ScenarioError, match=r"flows\.ftp\.traffic\.size: expected 36 B or more on a Linux host"):
        sj.run(sj.loads(wrong))


def test_a_capture_on_a_kernel_is_checked_before_it_starts_and_left_out_where_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_kernel(tmp_path, monkeypatch, "raise SystemExit(9)")
    file = tmp_path / "x.pcapng"
    with pytest.raises(ScenarioError, match=r'pcap_links: expected links with a rate \(bottleneck, .*\), got "up"'):
        sj.run(sj.loads(SCENARIO), pcap=file, pcap_links=["up"])
    with pytest.raises(RunError, match=r"the kernel ended with exit code 9: .* \(seed 4\)"):
        sj.run(sj.loads(SCENARIO), seed=4, pcap=file)
    assert not file.exists()


def test_the_kernel_is_told_to_keep_headers_for_a_capture_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"wanted = 'headers = true' in open('plan.toml').read(); open('log', 'wb').write({END!r})"
    put_kernel(tmp_path, monkeypatch, f"{script}; print('headers:', wanted); raise SystemExit(int(wanted))")
    sj.run(sj.loads(SCENARIO))
    with pytest.raises(RunError, match="ended with exit code 1: headers: True"):
        sj.run(sj.loads(SCENARIO), pcap=tmp_path / "x.pcapng")


def test_the_newest_package_is_taken_and_an_old_one_refused() -> None:
    assert source.newest("linux-source-7.9 - x\nlinux-source-7.10 - x\n") == "linux-source-7.10"
    with pytest.raises(RunError, match=r"expected a package linux-source-7\.2 or newer in .*, got linux-source-6\.12"):
        source.newest("linux-source-6.12 - x\n")
    with pytest.raises(RunError, match="got none"):
        source.newest("")


def test_edits_are_made_all_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one two", encoding="utf-8")
    edits = [{"file": "a", "before": "one", "after": "1"}, {"file": "a", "before": "two", "after": "2"}]
    build.edit(tmp_path, edits)
    assert (tmp_path / "a").read_text(encoding="utf-8") == "1 2"
    with pytest.raises(RunError, match='a: expected "two" once, got it 0 times'):
        build.edit(tmp_path, [{"file": "a", "before": "1", "after": "one"}, edits[1]])
    assert (tmp_path / "a").read_text(encoding="utf-8") == "1 2"


def test_a_source_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    with pytest.raises(UserError, match="expected a kernel's source, got no Makefile and Kconfig in it"):
        source.get_source(tmp_path, tmp_path / "tree", lambda _text: None)
    with pytest.raises(UserError, match=r"expected a folder, a \.deb or an archive, got nothing"):
        source.get_source(tmp_path, tmp_path / "none", lambda _text: None)
    (tmp_path / "broken.tar.xz").write_bytes(b"no archive")
    with pytest.raises(UserError, match=r"expected a folder, a \.deb or an archive: linux build: tar: "):
        source.get_source(tmp_path, tmp_path / "broken.tar.xz", lambda _text: None)
    for inside in ("source", ".", "source/linux"):
        (tmp_path / inside).mkdir(exist_ok=True)
        with pytest.raises(UserError, match=r"expected a folder that does not hold .*/source, nor is in it"):
            source.get_source(tmp_path, tmp_path / inside, lambda _text: None)
    (tmp_path / "tree" / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"expected a kernel of version 7\.2 or newer, got \"6\.12\.1\""):
        source.version_of(tmp_path / "tree")


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")
def test_a_package_and_an_archive_are_unpacked_and_another_package_is_refused(tmp_path: Path) -> None:
    tree = tmp_path / "linux-7.9"
    tree.mkdir()
    (tree / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 9\nSUBLEVEL = 1\n", encoding="utf-8")
    (tree / "Kconfig").touch()
    package = tmp_path / "package"
    (package / "DEBIAN").mkdir(parents=True)
    control = "Package: linux-source-7.9\nVersion: 7.9.1-1\nArchitecture: all\nMaintainer: none\nDescription: none\n"
    (package / "DEBIAN" / "control").write_text(control, encoding="ascii")

    def build_package(name: str) -> Path:
        subprocess.run(["dpkg-deb", "--build", str(package), str(tmp_path / name)], check=True, capture_output=True)
        return tmp_path / name

    with pytest.raises(UserError, match=r"expected a package linux-source-\*, got no archive of a kernel in it"):
        source.get_source(tmp_path / "cache", build_package("other.deb"), lambda _text: None)
    archive = package / "usr" / "src" / "linux-source-7.9.tar.xz"
    archive.parent.mkdir(parents=True)
    subprocess.run(["tar", "cJf", str(archive), "-C", str(tmp_path), tree.name], check=True)
    for given in (archive, build_package("linux-source-7.9.deb"), tree):
        found = source.get_source(tmp_path / "cache", given, lambda _text: None)
        assert source.version_of(found.folder) == "7.9.1"
        assert found.origin == (str(tree) if given is tree else given.name)


def test_the_page_of_comparisons_shows_what_is_stored() -> None:
    shown = page.PAGE.read_text(encoding="utf-8")
    assert shown == page.with_tables(shown)
    assert all(shown.count(f"<!-- {name}: begin -->") == 1 for name in page.PARTS)


def test_the_stored_cases_are_those_of_now() -> None:
    stored = RESULTS.get("gaps")
    assert list(stored["cases"]) == [name for name, _ in gaps.cases()]
    assert set(stored["about"]) == {"command", "seeds", "version", "source", "config_sha256", "kernel_sha256"}
    stored = RESULTS.get("controllers")
    assert list(stored["cases"]) == [name for name, _ in controllers.cases()]
    assert stored["about"]["command"] == controllers.COMMAND
    stored = RESULTS.get("cells")
    assert list(stored["cases"]) == [name for name, _ in cells.cases()]
    assert stored["about"]["command"] == cells.COMMAND
    samples = RESULTS.get("papers")["samples"]
    assert [sample.experiment for sample in papers.SAMPLES] == list(samples)


def test_a_queue_of_ours_does_in_the_kernel_what_it_does_in_the_network_and_our_dualpi2_what_the_kernels_does() -> None:
    stored = RESULTS.get("ours")
    same, _, dual = stored["tables"]
    assert len(same) > 5
    assert len(dual) > 1
    assert gaps.with_verdict("MISS", {"cases": {name: stored["cases"][name] for name in same + dual}}) == []


def is_same(found: dict[str, list[float]], stored: dict[str, list[float]]) -> bool:
    """Whether means are equal, and half widths up to rounding."""
    close = [found[name] == [stored[name][0], pytest.approx(stored[name][1], rel=1e-9)] for name in stored]
    return found.keys() == stored.keys() and all(close)


@pytest.mark.parametrize("name", ["dctcp, 4 flows", "prague, 4 flows", "copa, 4 flows", "bbr, 4 flows"])
def test_our_controllers_do_in_the_simulator_what_is_stored_beside_the_kernel(name: str) -> None:
    stored = RESULTS.get("ours")["cases"]
    (pair,) = (scenarios for case, scenarios in ours.controllers() if case == name)
    assert is_same(gaps.means(run_many(pair[0], gaps.SEEDS)[0]), stored[name][gaps.SIMULATOR])


@pytest.mark.parametrize("table", [gaps, controllers, ours, cells])
def test_no_stored_figure_is_outside_its_bound(table: ModuleType) -> None:
    stored = RESULTS.get(table.NAME)
    assert gaps.with_verdict("MISS", stored) == gaps.with_verdict("stale", stored) == []


def test_a_difference_outside_its_bound_has_a_star_or_a_question_mark_where_noise_hides_it() -> None:
    def shown(ours: list[float], linux: list[float]) -> list[str]:
        goodput, jain = [ours[0], ours[1]], [0.9, 0.01]
        case = {
            gaps.SIMULATOR: {"goodput": goodput, "RTT": [50.0, 0.0], "loss ratio": [0.01, 0.0], "Jain's index": jain},
            gaps.LINUX: {"goodput": linux, "RTT": [50.0, 0.0], "loss ratio": [0.01, 0.0], "Jain's index": [0.95, 0.02]},
        }
        cells = gaps.table({"cases": {"one": case}}, ["one"])[2].split(" | ")
        return [cells[4], cells[7].removesuffix(" |")]

    assert shown([10.2e6, 0.05e6], [10e6, 0.05e6]) == ["+2.0 %*", "-0.050*"]
    assert shown([10.2e6, 0.2e6], [10e6, 0.2e6])[0] == "+2.0 %?"
    assert shown([9.95e6, 0.01e6], [10e6, 0.01e6])[0] == "-0.5 %"


@pytest.mark.slow
def test_the_stored_figures_of_the_simulator_are_those_of_now() -> None:
    stored = RESULTS.get("gaps")["cases"]
    for name, scenario in [next(block()) for block in gaps.BLOCKS]:
        assert is_same(gaps.means(run_many(scenario, gaps.SEEDS)[0]), stored[name][gaps.SIMULATOR])


def test_a_case_alone_has_a_line_a_block_without_what_it_does_not_measure() -> None:
    runs = {"red-reno-5": validate.stored()["runs"]["red-reno-5"]}
    said = [validate.line(block, validate.judge(block, runs)) for block in validate.BLOCKS]
    assert ["the first group's share" in line for line in said] == [False] * 3
    assert all("drops and marks" in line for line in said)


def test_the_blocks_in_readme_are_computed_from_what_is_stored() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = readme.split("<!-- linux: begin -->\n")[1].split("<!-- linux: end -->")[0]
    runs = validate.stored()["runs"]
    assert shown.splitlines() == validate.lines(runs)
    assert f"The same {len(runs)} scenarios run" in readme
    stored = validate.stored()
    assert list(stored["runs"]) == list(validate.cases())
    assert sorted(case for one in stored["kernels"] for case in one["cases"]) == sorted(stored["runs"])
