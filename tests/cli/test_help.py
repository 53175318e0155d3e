"""The output of `--help`: a short line for each command, allowed names, and defaults."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from sojourn.cli import app
from sojourn.experiments.schema import FILES

ROOM = 60  # characters beside the longest name of a command in a terminal of 80, by typer's reckoning


def commands(command: Any, name: str = "sojourn") -> Iterator[tuple[str, Any]]:
    """All commands below one, each with its name."""
    for step, each in getattr(command, "commands", {}).items():
        yield f"{name} {step}", each
        yield from commands(each, f"{name} {step}")


COMMANDS = dict(commands(typer.main.get_command(app)))


def said(command: str, option: str) -> str:
    return next(each.help for each in COMMANDS[command].params if option in each.opts)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_has_a_whole_sentence_of_each(name):
    line = COMMANDS[name].get_short_help_str(ROOM)
    assert line == COMMANDS[name].help.split("\n\n")[0].strip()
    assert line.endswith(".")


def test_schema_names_every_file_that_has_one():
    help_of_file = next(each.help for each in COMMANDS["sojourn schema"].params if each.name == "file")
    assert [name for name in FILES if name not in help_of_file] == []


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("run", ["--host", "--out"]),
        ("compare", ["--host", "--link", "--group", "--out"]),
        ("sweep", ["--out"]),
        ("plot", ["--out"]),
        ("analyze", ["--link", "--seed", "--seconds", "--out"]),
        ("reproduce", ["--out"]),
        ("audit-claims", ["--only", "--out"]),
        ("infer", ["--out"]),
    ],
)
def test_an_option_that_may_be_left_out_says_what_happens_then(command, options):
    for option in options:
        assert "default" in said(f"sojourn {command}", option), option
