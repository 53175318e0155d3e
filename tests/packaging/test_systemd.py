"""The systemd unit of the bridge."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sojourn.cli import main
from tests.support.source_tree import ROOT

UNIT = ROOT / "packaging/systemd/sojourn-bridge.service"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    # The program may not be installed where systemd looks for it.
    true = shutil.which("true")
    text, count = re.subn(r"^ExecStart=sojourn ", f"ExecStart={true} ", UNIT.read_text(encoding="utf-8"), flags=re.M)
    assert count == 1
    (tmp_path / UNIT.name).write_text(text, encoding="utf-8")
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / UNIT.name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_uses_options_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r"^ExecStart=sojourn live \S+ (.*)$", UNIT.read_text(encoding="utf-8"), re.M)
    assert found is not None
    options = {word for word in found[1].split() if word.startswith("--")}
    main(("live", "--help"))
    known = set(re.findall(r"--[\w-]+", capsys.readouterr().out))
    assert options == {"--bridge", "--realtime"} <= known
