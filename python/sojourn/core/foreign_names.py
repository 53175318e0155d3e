"""Sanitizes untrusted names for use in paths and commands.

Names in scenarios, captures and results of other programs are untrusted. They become paths or words of commands only
through this module. `sojourn.core.errors.one_line` sanitizes lines of messages and of comments in files. Pages are made
of templates that escape every text, and tables by `html.escape`.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from sojourn.core.errors import one_line

LONGEST_LABEL = 100  # bytes of a name; leaves room for a suffix and a number
LONGEST = 120  # bytes of a name, which leaves room for an ending and a number
# Names that Windows reserves for devices, with any suffix.
DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


def file_name(name: str) -> str:
    """A safe file name without a folder: `queue/R0->R1` becomes `queue-R0-R1`.

    ```python
    file_name("../../etc/passwd")  # etc-passwd
    ```
    """
    plain = "".join(c if c.isalnum() or c in "_." else "-" for c in name)
    joined = "-".join(filter(None, (part.strip(".") for part in plain.split("-"))))
    short = joined.encode("utf-8")[:LONGEST].decode("utf-8", errors="ignore").strip(".-") or "unnamed"
    return f"_{short}" if DEVICES.fullmatch(short) else short


def scenario_name(name: str) -> str:
    """Makes a scenario name from a file name: one line, short, never empty."""
    return one_line(name).strip()[:LONGEST_LABEL] or "import"


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Distinct file names, ignoring case: `a-b` and `a-b-2` for a-b, a>b."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        first = file_name(name)
        tries = itertools.chain([first], (f"{first}-{i}" for i in itertools.count(2)))
        found[name] = next(each for each in tries if each.casefold() not in taken)
        taken.add(found[name].casefold())
    return found


def shell_word(path: str | Path) -> str:
    """A file name as one word of a shell command, on one line; never an option.

    ```python
    shell_word("a b.toml")  # 'a b.toml'
    ```
    """
    text = str(path)
    text = f"./{text}" if text.startswith("-") else text
    if one_line(text) == text:
        return shlex.quote(text)
    escaped = "".join(c if c.isascii() and c.isprintable() and c not in "\\'" else _escaped(c) for c in text)
    return f"$'{escaped}'"


def _escaped(c: str) -> str:
    """The bytes of a character of a file name, as a shell reads them in `$'...'`."""
    return "".join(f"\\x{byte:02x}" for byte in c.encode("utf-8", "surrogateescape"))
