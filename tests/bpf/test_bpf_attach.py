"""`sojourn attach` and `detach`: what they check, and what stays in the kernel."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sojourn.bpf import build, fields, owner
from sojourn.cli import main
from sojourn.linux.running import congestion_controls
from tests.support.source_tree import ROOT

lacking = build.missing()
live = pytest.mark.skipif(lacking is not None, reason=f"BPF programs: {lacking}")


def error_of(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(words)
    return code, capsys.readouterr().err.strip()


def members(structure: str, text: str) -> list[str]:
    """The members of a struct, with those of nested structs, as paths of parameters."""
    body = re.search(rf"struct {structure} {{(.*?)}};", text, re.DOTALL)
    assert body is not None, structure
    found: list[str] = []
    for kind, name in re.findall(r"^\t(?:struct )?(\w+) (\w+);", body[1], re.MULTILINE):
        inner = [] if kind == "u64" else members(kind, text)
        found += [f"delay.{each}" if name == "delay" else each for each in inner] or [name]
    return found


@pytest.mark.parametrize("name", fields.CONTROLLERS)
def test_the_parameters_of_a_program_have_the_order_of_its_header(name: str) -> None:
    controller = fields.CONTROLLERS[name]
    header = controller.kernel_name
    files = (build.SOURCES / file for file in (f"{header}.h", f"{header}_model.h", "fuzzy.h", "delay.h"))
    text = "\n".join(path.read_text() for path in files if path.exists())
    assert members("law_params", text) == list(controller.names)


def test_parameters_are_those_of_the_registry_in_integers() -> None:
    assert fields.of_controller("ledbat", []) == [10, 4, 100_000_000, fields.ONE]
    assert fields.of_controller("ledbat++", [("target", "30 ms"), ("slowdown", False)]) == [
        10,
        4,
        30_000_000,
        fields.ONE,
        0,
    ]
    assert fields.of_controller("bbr3", [("probe_rtt", "100 ms")])[5:] == [10**10, 5 * 10**9, 10**8]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "error: attach: expected --cc or --aqm, got neither"),
        (["--aqm", "pi"], "error: --aqm: expected --dev with it"),
        (["--aqm", "red", "--dev", "lo"], "error: --aqm: expected one of pi, pd, fuzzy-red, led, cpc"),
        (["--aqm", "led", "--dev", "lo"], "error: --rate: expected the rate at which the device sends, for led"),
        (["--aqm", "pi", "--dev", "lo", "--set", "a=0.5"], "error: a: expected at most 25% a packet in the kernel"),
        (["--aqm", "pi", "--dev", "lo", "--set", "bytes=true"], "error: --set: expected one of interval"),
        (["--cc", "ledbat", "--dev", "lo"], "error: --dev: expected --aqm with it"),
        (["--cc", "cubic"], 'error: --cc: expected one of ledbat, ledbat++, flower, flower+, bbr3, got "cubic"'),
        (
            ["--cc", "ledbat", "--set", "target=0ms"],
            "error: ledbat: tcp.control.target: expected 1 ms to 10 s, got 0 s",
        ),
        (
            ["--cc", "ledbat", "--set", "mark_gain=1"],
            "error: --set: expected one of delay.history, delay.filter, target, gain",
        ),
        (["--cc", "ledbat", "--set", "target"], "error: --set: expected path=value"),
    ],
)
def test_wrong_input_is_one_line(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    code, error = error_of(capsys, "attach", *words)
    assert (code, error[: len(said)], error.count("\n")) == (2, said, 0)


def test_a_machine_that_cannot_load_programs_is_told_the_first_thing_that_it_lacks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("platform.release", lambda: "6.18.44-x")
    monkeypatch.setattr(build, "BTF", tmp_path / "vmlinux")
    assert error_of(capsys, "attach", "--cc", "flower") == (
        2,
        f"error: attach: expected a kernel with its types in {build.BTF} (CONFIG_DEBUG_INFO_BTF), got one without",
    )
    (tmp_path / "vmlinux").touch()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "expected root, got user 1000" in error_of(capsys, "attach", "--cc", "flower")[1]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "expected clang, which compiles for BPF, got none" in error_of(capsys, "attach", "--cc", "flower")[1]
    monkeypatch.setattr("platform.release", lambda: "6.1.0-13-amd64")
    assert "expected Linux 6.6 or newer, got 6.1.0-13-amd64" in error_of(capsys, "attach", "--cc", "flower")[1]


def sojourn(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "sojourn", *words], capture_output=True, text=True, cwd=ROOT)


def gone(name: str) -> bool:
    """Whether the kernel forgets a congestion control, which it does after a grace period."""
    until = time.monotonic() + 5
    while name in congestion_controls() and time.monotonic() < until:
        time.sleep(0.02)
    return name not in congestion_controls()


@live
@pytest.mark.parametrize("name", fields.CONTROLLERS)
def test_a_controller_is_in_the_kernel_until_it_is_detached(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    in_kernel, parameter = fields.CONTROLLERS[name].kernel_name, "beta=0.6" if name == "bbr3" else "target=50ms"
    done = sojourn("attach", "--cc", name, "--set", parameter)
    assert (done.returncode, done.stderr) == (0, "")
    assert in_kernel in congestion_controls()
    held = f"cc-{in_kernel} is attached by process {owner.process_of(f'cc-{in_kernel}')}"
    assert held in error_of(capsys, "attach", "--cc", name)[1]
    assert main(("detach", "--cc", name)) == 0
    assert gone(in_kernel)
    assert error_of(capsys, "detach", "--cc", name)[0] == 2


@live
def test_a_controller_leaves_the_kernel_when_its_owner_is_killed() -> None:
    sojourn("attach", "--cc", "ledbat")
    os.kill(owner.process_of("cc-ledbat"), signal.SIGKILL)
    assert gone("ledbat")
    # What the owner left does not keep the next one out.
    assert sojourn("attach", "--cc", "ledbat").returncode == 0
    assert main(("detach",)) == 0


@live
def test_in_the_foreground_it_stays_until_it_is_interrupted() -> None:
    words = [sys.executable, "-m", "sojourn", "attach", "--cc", "ledbat", "--foreground"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ledbat: attached as congestion control ledbat")
        assert "ledbat" in congestion_controls()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
    assert gone("ledbat")
