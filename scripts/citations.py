"""List which places of which works are cited where: `python scripts/citations.py [--json] [KEY]`.

A citation is a key, a number sign and a place: `rfc8289#5.3`, `hollot-2001#eq9`, `lehto-2005#table1`, `feng-1999#fig2`.
The keys of RFCs and drafts are their names, those of papers are in docs/references.md and in papers/*/experiment.toml.
"""

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {".rs", ".py", ".md", ".toml", ".j2"}
WORK = r"rfc\d{3,5}|draft-[a-z]+(?:-[a-z0-9]+)+|[a-z]+(?:-[a-z]+)*-(?:19|20)\d\d[a-z]?"
PLACE = r"(?:eq|fig|table|alg|p)\d+[a-z]?|[A-Z](?:\.\d+)*|\d+(?:\.\d+)*[a-z]?"
CITATION = re.compile(rf"(?<![\w/.-])({WORK})(?:#({PLACE}))?(?![\w/-]|\.\w)")
# A place that is written in another way than `KEY#PLACE`.
PART = r"(?:section|sec\.|sect\.|rule|step|appendix|equation|eq\.?|figure|fig\.?|table|§)"
LOOSE = re.compile(
    rf"\b(?:RFC|rfc) ?\d+(?:'s)?,? \(?{PART} ?[\d(A-Z]"  # RFC 5681 section 3.1
    rf"|\b{PART} [\dA-Z][\d.A-Z()]* (?:of|in) RFC ?\d+"  # section 3.1 of RFC 5681
    r"|(?<![\w-])#(?:eq|fig|table)\d+"  # and #eq12
    rf"|\b(?:{WORK})#(?!{PLACE})\S*"  # rfc5681#sec3
)


@dataclass(frozen=True)
class Citation:
    """One citation: the work, the place in it (empty for the work as a whole), and where it is cited."""

    work: str
    place: str
    path: Path
    line: int


def files() -> Iterator[Path]:
    """The files that may cite, relative to the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in sorted(set(listed)):
        path = Path(name)
        if path.suffix in SUFFIXES and (ROOT / path).is_file() and path.name not in ("references.md", "citations.py"):
            yield path


def lines() -> Iterator[tuple[Path, int, str]]:
    """Every line of these files with its number."""
    for path in files():
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), start=1):
            yield path, number, line


def citations() -> list[Citation]:
    """Every citation that names a place, and every mention of a work by its key."""
    return [
        Citation(found[1], found[2] or "", path, number)
        for path, number, line in lines()
        for found in CITATION.finditer(line)
    ]


def loose() -> list[tuple[Path, int, str]]:
    """Places of works that are written in another style."""
    return [(path, number, found.group()) for path, number, line in lines() for found in LOOSE.finditer(line)]


def references() -> dict[str, str]:
    """The known works: key and full citation, from docs/references.md and the papers' folders."""
    listed = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
    known = dict(re.findall(r"^\| `([^`]+)` \| (.+?) \|$", listed, re.MULTILINE))
    for path in sorted(ROOT.glob("papers/*/experiment.toml")):
        paper = tomllib.loads(path.read_text(encoding="utf-8"))
        known[paper["id"]] = f"{', '.join(paper['authors'])}: {paper['title']}. {paper['venue']}, {paper['year']}."
    return known


def by_natural_order(place: str) -> list[tuple[int, str]]:
    """A key that sorts `4.10` after `4.9`."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.findall(r"\d+|\D+", place)]


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description="Which places of which works are cited where.")
    parser.add_argument("key", nargs="?", help="only this work, for example rfc8289")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args()
    table: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for each in citations():
        if each.place and chosen.key in (None, each.work):
            table[each.work][each.place].append(f"{each.path}:{each.line}")
    if chosen.json:
        json.dump(table, sys.stdout, indent=1, sort_keys=True)
        return
    known = references()
    for work in sorted(table):
        print(f"{work}: {known.get(work, 'not in docs/references.md')}")
        for place in sorted(table[work], key=by_natural_order):
            print(f"  {place:<8} {', '.join(table[work][place])}")


if __name__ == "__main__":
    main()
