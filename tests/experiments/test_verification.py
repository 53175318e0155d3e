"""`sojourn verify` repeats the runs of a report and states whether they are equal."""

import json
import shutil
import subprocess

import pytest

from sojourn.cli import main
from sojourn.experiments.verification import digest
from tests.support.source_tree import ROOT

NO_LOOKS = '{"runs": {}, "experiment": "x", "sources": "x", "looks": 0, "claims": {}, "machine": {}}'

LEHTO = ROOT / "papers" / "lehto-2005"


@pytest.fixture
def report(here):
    """The results of one claim of Lehto's paper, from two short runs of each case."""
    assert main(["reproduce", str(LEHTO), "L8", "--seeds", "2", "--out", "r"]) == 0
    return here / "r" / "results.json"


def changed(path, change):
    """The results with one change."""
    table = json.loads(path.read_text())
    change(table)
    (path.parent / "SHA256SUMS").unlink(missing_ok=True)
    path.write_text(json.dumps(table))


def test_equal_runs_are_stated_with_the_digest_of_the_statement(report, capsys):
    assert main(["verify", str(report)]) == 0
    said = json.loads((report.parent / "verification.json").read_text())
    assert said["equal"] is True
    assert (said["runs"], said["runs_that_differ"], said["claims_that_differ"]) == (4, [], [])
    assert said["sha256"] == digest(said)
    assert said["sha256"] != digest(said | {"equal": False})
    assert "4 runs and 1 claim of lehto-2005: equal" in capsys.readouterr().out


def test_a_run_a_verdict_and_a_file_that_differ_are_named(report, tmp_path, capsys):
    def wrong(table):
        table["runs"]["s1.pd"]["fingerprints"][1] = "0"
        table["claims"]["L8"] = "not reproduced"

    changed(report, wrong)
    other = tmp_path / "papers" / "lehto-2005"
    shutil.copytree(LEHTO, other)
    (other / "deviations.toml").write_text((LEHTO / "deviations.toml").read_text() + "\n# changed\n")
    assert main(["verify", str(report), "--experiment", str(other), "--out", str(tmp_path / "v.json")]) == 1
    said = json.loads((tmp_path / "v.json").read_text())
    assert said["equal"] is False
    assert said["same_sources"] is False
    assert said["runs_that_differ"] == ["s1.pd, seed 2"]
    assert said["claims_that_differ"] == ["L8"]
    assert "differs: other files of the experiment; s1.pd, seed 2; claim L8" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_a_statement_is_signed_by_an_ssh_key_and_the_signature_fits_it_alone(report, tmp_path):
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    assert main(["verify", str(report), "--sign", str(key)]) == 0
    statement = report.parent / "verification.json"
    signers = tmp_path / "signers"
    signers.write_text(f"me {(tmp_path / 'key.pub').read_text()}")
    check = ["ssh-keygen", "-Y", "verify", "-f", str(signers), "-I", "me", "-n", "sojourn", "-s", f"{statement}.sig"]
    assert subprocess.run(check, input=statement.read_bytes(), check=False).returncode == 0
    assert subprocess.run(check, input=b"another", check=False, capture_output=True).returncode != 0


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"runs": {"s1.pd": {}}}', NO_LOOKS])
def test_another_file_is_refused_in_one_line(here, text, capsys):
    (here / "x.json").write_text(text)
    assert main(["verify", "x.json"]) == 2
    said = capsys.readouterr().err
    assert 'x.json: expected the results.json of a report, got "another file"' in said
    assert said.count("\n") == 1
