"""The doctor names every extra, what it is for, and what is missing."""

import importlib.util

from sojourn.cli import doctor, main
from sojourn.core import extras


def test_every_extra_has_a_use():
    assert set(doctor.USES) == set(extras.EXTRAS)


def test_an_installed_and_a_missing_extra_are_told_apart(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "present", lambda module: module != "ray" and importlib.util.find_spec(module))
    monkeypatch.setitem(doctor.EXTRAS, "arrays", ("numpy",))
    monkeypatch.setattr(doctor.out, "width", 160)
    assert main(["doctor"]) == 0
    lines = {line.split("│")[1].strip(): line for line in capsys.readouterr().out.splitlines() if line[0] == "│"}
    assert "no ray: pip install 'sojourn[ray]'" in lines["ray"]
    assert "numpy " in lines["arrays"]


def test_a_missing_kernel_and_a_stale_one_say_what_to_do(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["doctor"]) == 0
    assert "Linux kernel: host: expected a Linux kernel, got none: `sojourn linux build`" in capsys.readouterr().out
    store = tmp_path / "sojourn" / "linux"
    store.mkdir(parents=True)
    (store / "kernel").touch()
    (store / "kernel.json").write_text(
        '{"version": "7.2.1", "source": "x", "config_sha256": "", "kernel_sha256": "", "code": "old"}'
    )
    assert main(["doctor"]) == 0
    assert "Linux kernel: Linux 7.2.1, stale: run `sojourn linux build`" in capsys.readouterr().out
