"""A command checks and reserves its folder before the first run, and names new folders."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn.cli import main
from sojourn.cli.output import check_folder, held_folders

SHORT = ["--set", 'duration="2 s"', "--set", 'warmup="0 s"']


def test_a_folder_that_cannot_be_made_is_refused_before_the_run(capsys, dumbbell, observed, here, monkeypatch):
    monkeypatch.setenv("RUN_LOG", str(here / "log"))
    for command in (["run", str(dumbbell)], ["compare", str(dumbbell), "--queues", "red"]):
        assert main([*command, "--out", "/proc/x"]) == 2
        assert 'error: --out "/proc/x": expected a folder that can be written to' in capsys.readouterr().err
    assert not (here / "log").exists()


def test_a_check_leaves_nothing(here):
    with held_folders():
        check_folder(Path("a/b"))
    assert not list(here.iterdir())


def test_a_second_command_into_one_folder_is_refused_by_one_line(here, capsys, dumbbell):
    arguments = ["run", str(dumbbell), "--out", "x/../y", *SHORT]
    with held_folders():
        check_folder(Path("y"))
        check_folder(Path("y"))  # by the same command
        command = [sys.executable, "-m", "sojourn", *arguments]
        paths = [str(Path(each).resolve()) for each in sys.path if each]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith('error: --out "x/../y": another command is writing there')
    assert not Path("y").exists()
    assert main(arguments) == 0


def test_a_command_releases_its_folder_even_if_it_fails(here):
    with contextlib.suppress(RuntimeError), held_folders():
        check_folder(Path("y"))
        raise RuntimeError
    with held_folders():
        check_folder(Path("y"))


def test_a_new_cache_is_announced_once(here, capsys, dumbbell):
    command = ["compare", str(dumbbell), "--queues", "red", "--seeds", "2", *SHORT]
    assert main([*command, "--no-cache"]) == 0
    assert not Path("results").exists()
    assert main(command) == 0
    assert "cache: finished runs are kept in the new folder results/cache" in capsys.readouterr().err
    assert main(command) == 0
    assert "cache:" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["run", "FILE", "--seed", "1", "--seed", "2"], "--seed"),
        (["run", "FILE", "--seed=1", "--seeds", "2", "--seed=1"], "--seed"),
    ],
)
def test_a_second_seed_is_refused(arguments, option, dumbbell, capsys):
    assert main([str(dumbbell) if each == "FILE" else each for each in arguments]) == 2
    assert capsys.readouterr().err == f"error: {option}: expected it once, got it twice\n"


def test_options_that_may_be_repeated_and_values_like_options_are_accepted(dumbbell, capsys):
    assert main(["run", str(dumbbell), *SHORT, "--json", "--json", "--measure", "--seed", "--seed", "3"]) == 2
    assert "--measure" in capsys.readouterr().err


def test_the_help_lists_the_exit_codes(capsys):
    main(["--help"])
    assert "Exit codes: 0 done, 1 failed" in " ".join(capsys.readouterr().out.split())
