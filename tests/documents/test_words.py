"""Replaced names do not come back; each is listed with the term of the field."""

import re
from collections.abc import Iterator

import pytest

from tests.support.source_tree import files, text

EXCEPT = {"tests/documents/test_words.py"}

# In prose and as a part of a name: `tail_drops`, `TailDrops` and "tail drops" are the same three words here.
PHRASES = {
    "strike|strikes|struck|striking": "signal: drop or mark",
    "door|doors": "queue controller",
    "lane|lanes": "access link",
    "foretell|foretells|foretold|foretelling": "precompute, predict",
    "habit|habits": "profile, behavior",
    "crowd|crowds|crowded": "many flows, access queue",
    "taken (?:is|are)": "expected Y, got X",
    "given .{1,60}, taken": "expected Y, got X",
    "under way": "in transit, running; transit_time",
    "hears?|heard": "observes, receives; ack_listeners",
    "ways? (?:there|back)|way there and back": "forward path, reverse path",
    "both ways": "both directions",
    "swing|swings|swinging|swung": "limit cycle, oscillation",
    "lenient": "bypass",
    "judges? (?:of|is|are)|its judges": "reference simulator",
    "what is told": "receives",
    "kept queues?|keeps its packets|kept packets": "buffered",
    "whoever": "say who",
    "working points?": "operating point",
}

# Names in code: case matters.
NAMES = {
    r"Admission": "QueueController",
    r"Kept": "Buffered",
    r"Outlet": "SegmentSink",
    r"Blind": "NoopObserver",
    r"Tied|NeedsTieBreak": "still_counted",
    r"INSTANT": "TIE_TOLERANCE",
    r"offer_again|offer_with_transit_time": "transit_time",
    r"count_in": "count a simultaneous departure",
    r"by_event|at_once": "deferred, immediate",
    r"first_above": "first_above_time",
    r"rate_over|by_size": "dq_threshold, bytemode",
    r"on_look": "on_inspect",
    r"beside(?=\()": "simultaneous departure",
    r"struct (?:Again|Body|Over|Ways|Way|Look|Congestion)": "Retransmission, LinkState, HopTarget, CongestionEvent",
    r"Board": "Scoreboard, or what it holds",
    r"go_over|goes_over": "adopt_stream",
    r"Desk|Useless": "QueueState, WaitingPacket",
    r"(?:struct|enum|type|class|interface) (?:Asked|Brought|Filled|Found|Given|Made|Seen|Taken|Told)": "a noun",
    r"fn (?:holding|places_of|usual|reach_of)|def (?:holding|places|_usual|found_to_be)": "a noun or verb",
}

# Whether any of them is in a text without capital letters, or in a text; found sooner than one by one.
ANY_PHRASE = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b")
ANY_NAME = re.compile(rf"(?<!\w)(?:{'|'.join(NAMES)})(?!\w)")
COMPILED = [(re.compile(rf"\b(?:{phrase})\b", re.IGNORECASE), instead) for phrase, instead in PHRASES.items()]
NAMED = [(re.compile(rf"(?<!\w)(?:{name})(?!\w)"), instead) for name, instead in NAMES.items()]


def apart(line: str) -> str:
    """A line with the words of its names apart.

    `tail_drops` and `TailDrops` become two words each.
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", line).replace("_", " ")


def is_clean(whole: str) -> bool:
    """Whether no old word is anywhere in a text."""
    return not ANY_PHRASE.search(apart(whole).lower()) and not ANY_NAME.search(whole)


def found_in(line: str) -> Iterator[tuple[str, str]]:
    """The old words of a line, each with its replacement."""
    words = apart(line)
    aliases = "alias" in line  # files that users wrote earlier stay valid
    for pattern, instead in COMPILED:
        if not aliases and (found := pattern.search(words)):
            yield found.group(), instead
    for pattern, instead in NAMED:
        if not aliases and (found := pattern.search(line)):
            yield found.group(), instead


@pytest.mark.parametrize(
    ("line", "bad"),
    [
        ("let strikes = 1;", True),
        ("fn foretold_cycle()", True),
        ("struct LaneQueue;", True),
        ("x.toml:8:8: links.up.rate: given 10, taken is a rate", True),
        ("a plane of lanes_", True),
        ("the planet is undermined; an explanation", False),
        ("indoors, heartily", False),
        ('#[serde(alias = "by_size")]', False),
        ("by_size: bool", True),
        ("first_above_time: Time", False),
        ("struct Seen {", True),
        ("let seen = Observation::new();", False),
        ("stream.go_over(start)", True),
    ],
)
def test_the_search_finds_old_words_and_nothing_else(line: str, bad: bool) -> None:
    assert bool(list(found_in(line))) == bad
    assert not (bad and is_clean(f"good\n{line}\n"))


def test_no_old_word_is_left() -> None:
    left = [
        f"{path}:{number}: {word!r}: say {instead!r}"
        for path in files()
        if path.as_posix() not in EXCEPT and not is_clean(text(path))
        for number, line in enumerate(text(path).splitlines(), start=1)
        for word, instead in found_in(line)
    ]
    assert not left, "\n".join(left)


def test_no_file_is_named_by_an_old_word() -> None:
    left = [str(path) for path in files() if list(found_in(path.as_posix().replace("/", " ")))]
    assert not left, "\n".join(left)
