"""Documents and comments are plain: see STYLE.md, "Text".

The tests check what can be counted; a reader judges the rest.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.source_tree import ROOT, files, text

SENTENCE, PARAGRAPH, ENTRY, FIRST_LINE = 35, 90, 120, 90
END = (".", ":", "?", "!")
TOTAL = 31_700
PAGE = 1_200
BUDGETS = {
    "README.md": 900,
    "ARCHITECTURE.md": 2_500,
    "CONTRIBUTING.md": 2_500,
    "CHANGELOG.md": 2_500,
    "docs/engine.md": 1_500,
    "docs/roadmap.md": 600,
}
PAGES = [path for path in files() if path.suffix == ".md"]

PHRASES = re.compile(
    r"\b(?:(?:is|are) (?:said|told) of|gives so|so (?:many|much) (?!as\b)|without a word|for want of|anew|stands? for"
    r"|what is no|there (?:is|are|was) none|of which the|the same of|has to do with|not to be had)\b|\bbesides[.,;]",
    re.IGNORECASE,
)
CODE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
# Written by a command, and tested with it.
GENERATED = re.compile(r"<!-- ([\w: ]+): begin -->.*?<!-- \1: end -->", re.DOTALL)
QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|\*[^*\n]*\*")


def prose(page: str) -> str:
    """A page without its code, tables, comments and generated parts."""
    kept = GENERATED.sub("\n\n", CODE.sub("\n\n", page))
    return "\n".join("" if line.lstrip().startswith(("|", "<!--")) else line for line in kept.splitlines())


def paragraphs(page: str) -> Iterator[str]:
    """The paragraphs, headings and entries of lists of a page, each on one line."""
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*] |\d+\. |#))", prose(page)):
        if part.strip():
            yield " ".join(part.split())


def faults(page: str) -> Iterator[str]:
    """What STYLE.md forbids in a page: long paragraphs and sentences, and banned phrases."""
    for paragraph in paragraphs(page):
        if (words := len(paragraph.split())) > PARAGRAPH:
            yield f"paragraph of {words} words: {paragraph[:60]}"
        for sentence in re.split(r"(?<=[.!?:;])\s+", paragraph):
            if (words := len(sentence.split())) > SENTENCE:
                yield f"sentence of {words} words: {sentence[:60]}"
        if found := PHRASES.search(QUOTED.sub("", paragraph)):
            yield f"{found.group()!r}: {paragraph[:60]}"


@pytest.mark.parametrize(
    ("page", "count"),
    [
        ("The link drops the packet.", 0),
        ("A link of which the rate is known.", 1),
        ('A rule names "anew" and `stands for`.', 0),
        ("As much as there is room for. As many as fit.", 0),
        (f"{'word ' * 35}end.", 1),
        (f"{'word ' * 34}end.", 0),
        ("Four words a sentence. " * 23, 1),
        (f"```\n{'word ' * 99}\n```\n\n| {'word ' * 99} |\n", 0),
        (f"{'word ' * 30}\n- {'word ' * 30}\n1. {'word ' * 30}", 0),
    ],
)
def test_a_fault_is_found_and_nothing_else(page: str, count: int) -> None:
    assert len(list(faults(page))) == count


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_page_is_plain(page: Path) -> None:
    found = list(faults(text(page)))
    assert not found, f"{page}:\n" + "\n".join(found)


def test_a_page_keeps_its_budget_and_all_of_them_theirs() -> None:
    words = {page.as_posix(): len(prose(text(page)).split()) for page in PAGES}
    over = [f"{page}: {count} words" for page, count in words.items() if count > BUDGETS.get(page, PAGE)]
    assert not over, "\n".join(over)
    assert sum(words.values()) <= TOTAL


def test_an_entry_of_the_changelog_is_one_line() -> None:
    entries = text(Path("CHANGELOG.md")).partition("## [Unreleased]")[2].splitlines()
    wrong = [line for line in entries if line and not re.match(r"- .{,118}$|##", line)]
    assert not wrong, "\n".join(wrong)


# Folders whose comments are plain. Others are added as they are rewritten.
CRATES = [
    "aqm",
    "capture",
    "cc",
    "fluid",
    "fuzzy",
    "hunt",
    "lab",
    "link",
    "linux",
    "net",
    "python",
    "scenario",
    "sim",
    "spec",
    "traffic",
    "units",
    "web",
]
CODE_FOLDERS = tuple(f"crates/{crate}/" for crate in CRATES)
PLAIN = (*CODE_FOLDERS, "conformance", "hosts", "python/sojourn", "scripts", "tests")
C_FOLDERS = [*ROOT.glob("hosts/linux/kernel/*.[ch]"), *ROOT.glob("python/sojourn/bpf/kernel/*.[ch]")]
COMMENTED = [
    *(path for path in files() if path.suffix in (".rs", ".py") and path.as_posix().startswith(PLAIN)),
    *(path.relative_to(ROOT) for path in sorted([*C_FOLDERS, *ROOT.glob("playground/src/*.ts")])),
]


def comments(path: Path) -> Iterator[str]:
    """The comments of a file and its docstrings, each on one line and without what is quoted."""
    whole = text(path)
    if path.suffix == ".py":
        found = [
            node.value.value
            for node in ast.walk(ast.parse(whole))
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        ]
        tokens = tokenize.generate_tokens(io.StringIO(whole).readline)
        found += [token.string for token in tokens if token.type == tokenize.COMMENT]
    else:
        blocks = re.findall(r"(?:^[ \t]*//.*\n)+|[ \t]//.*|/\*(?s:.*?)\*/", whole, re.MULTILINE)
        found = [re.sub(r"^[ \t]*(?://[/!]?|/?\*+/?)|\*/$", "", block, flags=re.MULTILINE) for block in blocks]
    for each in found:
        yield " ".join(QUOTED.sub("", " ".join(CODE.sub("", each).split())).split())


def test_comments_are_found_in_each_language(tmp_path: Path) -> None:
    sources = {
        "a.rs": "/// One\n/// two.\nfn a() {} // three\n",
        "a.py": '"""One\ntwo."""\na = 1  # three\n',
        "a.c": "/* One\n * two. */\nint a; // three\n",
    }
    for name, source in sources.items():
        (tmp_path / name).write_text(source)
        assert [each.lstrip("# ").strip() for each in comments(tmp_path / name)] == ["One two.", "three"], name


# Folders and files whose doc comments begin with a short sentence on a line of its own. Others are added later.
SHORT = (
    "conformance/",
    "crates/aqm/",
    "crates/capture/",
    "crates/cc/",
    "crates/fluid/",
    "crates/fuzzy/",
    "crates/harness/",
    "crates/hunt/",
    "crates/lab/",
    "crates/link/",
    "crates/linux/",
    "crates/net/",
    "crates/python/",
    "crates/scenario/",
    "crates/sim/",
    "crates/spec/",
    "crates/traffic/",
    "crates/units/",
    "crates/web/",
    "fuzz/",
    "hosts/",
    "python/",
    "tests/",
)


def first_lines(path: Path) -> Iterator[str]:
    """The first line of each doc comment or docstring of a file."""
    if path.suffix == ".py":
        docstrings = (
            node.value.value
            for node in ast.walk(ast.parse(text(path)))
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        yield from (docstring.strip().partition("\n")[0] for docstring in docstrings)
    else:
        blocks = re.finditer(r"(?:^[ \t]*(//[/!]) ?(.*)\n)(?:^[ \t]*\1.*\n)*", text(path), re.MULTILINE)
        yield from (block[2] for block in blocks)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.rs", "//! A.\n//! More.\n\n/// B.\n#[test]\nfn b() {} // not this\n    /// C.\n    ///\n    /// More.\n"),
        ("a.py", '"""A."""\n\ndef b():\n    """B.\n\n    More.\n    """\n\nC = 1\n"""C."""\n'),
    ],
)
def test_first_lines_are_found_in_each_language(tmp_path: Path, name: str, source: str) -> None:
    (tmp_path / name).write_text(source)
    assert sorted(first_lines(tmp_path / name)) == ["A.", "B.", "C."]


@pytest.mark.parametrize("part", SHORT)
def test_a_doc_comment_begins_with_a_short_sentence(part: str) -> None:
    paths = [path for path in files() if path.suffix in (".py", ".rs") and path.as_posix().startswith(part)]
    lines = ((path, line) for path in paths for line in first_lines(path))
    wrong = [f"{path}: {line}" for path, line in lines if len(line) > FIRST_LINE or not line.endswith(END)]
    assert paths, f"{part} has no files"
    assert not wrong, "\n".join(wrong)


def test_comments_have_no_banned_phrases() -> None:
    found = ((path, PHRASES.search(each), each) for path in COMMENTED for each in comments(path))
    wrong = [f"{path}: {match.group()!r}: {each[:60]}" for path, match, each in found if match]
    assert not wrong, "\n".join(wrong)
