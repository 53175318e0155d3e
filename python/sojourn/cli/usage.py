"""Messages for invalid command lines, in the same form as those for invalid files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from typer import BadParameter
from typer.exceptions import TyperException

from sojourn.core.errors import UserError

# The expectation that each of typer's checks enforces.
WANTED = {
    "int_parsing": "a whole number",
    "float_parsing": "a number",
    "greater_than_equal": "a number of at least {ge}",
    "less_than_equal": "a number of at most {le}",
}


# Options about names in a file. Messages put the file first, because it lacks the name.
OF_FILES = ("link", "pcap_links", "pcap_hosts")


def message(error: TyperException) -> str:
    """An error of typer as one line, if possible as `--seeds: expected a whole number, got "x"`."""
    said = error.format_message()
    option = re.match(r"Invalid value for '([^']+)': ", said)
    checks: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    if isinstance(error, BadParameter) and option and checks:
        check = checks[0]
        got, wanted = str(check["input"]), WANTED.get(check["type"])
        if wanted is not None:
            return str(UserError.expected(option[1], wanted.format(**check.get("ctx", {})), got))
        if " is not one of " in check["msg"]:
            return str(UserError.unknown(option[1], got, re.findall(r"'([^']*)'", check["msg"])[1:]))
    if missing := re.fullmatch(r"Missing (argument|option) '([^']+)'\.?", said):
        return f"{missing[2]}: expected a value, got none"
    if said.startswith("No such command"):
        return f"{said} `sojourn --help` lists the commands."
    return said


def check_once(command: Any, arguments: Sequence[str]) -> None:
    """Raises `UserError` if `--seed` is given twice, which looks like two runs.

    Of other options with one value the last counts, as is usual.
    """
    seen, words = set[str](), iter(arguments)
    for word in words:
        if word == "--":
            return
        command = getattr(command, "commands", {}).get(word, command)
        name, equals, _ = word.partition("=")
        for each in getattr(command, "params", []):
            if name not in each.opts or not name.startswith("-") or getattr(each, "is_flag", False):
                continue
            if name == "--seed" and name in seen:
                raise UserError(f"{name}: expected it once, got it twice")
            seen |= set() if each.multiple else set(each.opts)
            if not equals:
                next(words, None)  # its value


def dashed(said: str, command: Any, arguments: Sequence[str]) -> str:
    """The error with the option `--queues` instead of the Python argument `queues`."""
    for argument in arguments:
        command = getattr(command, "commands", {}).get(argument, command)
    for each in getattr(command, "params", []):
        option = next((name for name in each.opts if name.startswith("--")), None)
        if option is None:
            continue
        names = "|".join({each.name, option[2:], option[2:].replace("-", " ")})
        label = r"(?:.*?: )?" if each.name in OF_FILES else ""  # any other prefix may be a field of a file
        if found := re.match(rf'({label})(?:{names})(?=:? "|: )', said):
            return f"{found[1]}{option}{said[found.end() :]}"
    return said
