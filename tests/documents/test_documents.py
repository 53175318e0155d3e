"""Names in documents exist, and shown output is the output of the commands."""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from sojourn.cli import app, main
from sojourn.cli.output import err, out
from tests.support.source_tree import ROOT, files, sources, text

pytestmark = pytest.mark.no_libraries

PAGES = [path for path in files() if path.suffix == ".md"]
FOLDERS = "crates|python|papers|conformance|tests|docs|examples|scripts|fuzz"
# Named as an example of something that a reader writes.
INVENTED = ("/mine.toml",)
# Types of Rust's standard library.
STANDARD = {"Instant", "SystemTime"}
OLD_WORDS = re.compile(r"<!-- old words: begin -->.*?<!-- old words: end -->", re.DOTALL)
CODE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def prose(page: Path) -> str:
    """A page without its code blocks and without the list of old words."""
    return CODE.sub("", OLD_WORDS.sub("", text(page)))


def quoted(page: Path) -> Iterator[str]:
    """The texts between backticks."""
    yield from re.findall(r"`([^`\n]+)`", prose(page))


def written_by_readers() -> set[str]:
    """The files and folders that CONTRIBUTING.md asks its readers to create."""
    new = {Path(name) for name in re.findall(r"<!-- file: (\S+) -->", text(Path("CONTRIBUTING.md")))}
    return {str(path) for path in new} | {f"{path.parent}/" for path in new}


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    heads = re.findall(r"^#+ (.*)$", CODE.sub("", text(page)), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_link_leads_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", text(page)):
        if "://" in target:
            continue
        file = (ROOT / page.parent / target).resolve() if target else ROOT / page
        assert file.exists(), f"{page} links to {target}, which is not there"
        assert not anchor or anchor in anchors(file.relative_to(ROOT)), f"{page}: {file.name} has no heading #{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_link_to_another_site_is_well_formed(page: Path) -> None:
    for address in re.findall(r"\bhttps?://[^\s<>\"`]*", prose(page)):
        parts = urlsplit(address.rstrip(").,;:"))
        assert parts.scheme == "https", f"{page}: {address}"
        assert re.fullmatch(r"(?:[a-z0-9-]+\.)+[a-z]{2,}", parts.netloc), f"{page}: {address}"


def test_the_site_leads_to_every_document() -> None:
    listed = re.findall(r"^docs/([\w-]+)$", text(Path("docs/site/index.md")), re.MULTILINE)
    assert sorted(listed) == sorted(page.stem for page in PAGES if page.parent == Path("docs"))


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_named_file_exists(page: Path) -> None:
    new = written_by_readers()
    for name in quoted(page):
        if re.fullmatch(rf"(?:{FOLDERS})/[\w./<>*-]*", name) and not name.endswith(INVENTED) and not new & {name}:
            pattern = re.sub(r"<\w+>", "*", name.rstrip("/"))
            assert list(ROOT.glob(pattern)), f"{page} names {name}, which is not there"
        elif re.fullmatch(r"[\w-]+\.(?:rs|py)", name):
            assert any(path.name == name for path in files()), f"{page} names {name}, and no file is called so"


@cache
def rust() -> str:
    """The code of all crates."""
    return "\n".join(text(path) for path in sources(".rs"))


@cache
def types() -> set[str]:
    """The names of types, traits, classes and enum variants."""
    found = set(re.findall(r"\b(?:struct|enum|trait|type|union) (\w+)", rust()))
    found |= set(re.findall(r"^class (\w+)", "\n".join(text(path) for path in sources(".py")), re.MULTILINE))
    return found | set(re.findall(r"^ +([A-Z]\w+)(?:[({].*)?,?$", rust(), re.MULTILINE)) | {"NaN"}


@pytest.mark.parametrize("page", [page for page in PAGES if len(page.parts) == 1], ids=str)
def test_a_named_type_function_or_crate_exists(page: Path) -> None:
    for name in quoted(page):
        if re.fullmatch(r"sojourn-[a-z]+", name):
            assert (ROOT / "crates" / name.removeprefix("sojourn-") / "Cargo.toml").exists(), f"{page} names {name}"
        elif found := re.fullmatch(r"([A-Z]\w*[a-z]\w*)::(\w+)(?:\(.*\))?", name):
            if found[1] in STANDARD:
                continue
            assert found[1] in types(), f"{page} names {name}, and there is no {found[1]}"
            member = found[2]
            there = rf"\bfn {member}\b|^ +{member}\b" if member[0].islower() else rf"^ +{member}\b"
            assert re.search(there, rust(), re.MULTILINE), f"{page} names {name}, and there is no {member}"
        elif re.fullmatch(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+", name):
            assert name in types(), f"{page} names {name}, and there is no such type"


@cache
def commands() -> set[str]:
    """The commands of the `sojourn` program, groups of commands too."""
    single = {
        each.name or each.callback.__name__.replace("_", "-") for each in app.registered_commands if each.callback
    }
    return single | {str(group.name) for group in app.registered_groups}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_named_command_exists(page: Path) -> None:
    code = [line for _, block in CODE.findall(text(page)) for line in block.splitlines()]
    for line in [*quoted(page), *code]:
        if found := re.match(r"(?:\$ )?(?:\.venv/bin/)?sojourn ([a-z-]+)", line.strip()):
            assert found[1] in commands(), f"{page} names the command {line!r}"
        if found := re.match(r"(?:\$ )?make ([a-z-]+)", line.strip()):
            assert re.search(rf"^{found[1]}:", text(Path("Makefile")), re.MULTILINE), f"{page} names {line!r}"
        if found := re.search(r"python -m (conformance[\w.]+)", line):
            assert (ROOT / (found[1].replace(".", "/") + ".py")).exists(), f"{page} names {line!r}"


PYTHON_PAGES = [page for page in PAGES if any(language == "python" for language, _ in CODE.findall(text(page)))]


@pytest.mark.slow
@pytest.mark.parametrize("page", PYTHON_PAGES, ids=str)
def test_the_python_of_a_page_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of `output` after one of `python` is the output of that code."""
    if page.name == "every-stack.md":
        pytest.importorskip("sojourn_stacks", reason="make hosts has not run")
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "120")
    (ROOT / "results").mkdir(exist_ok=True)  # a page's commands make it; its Python is run alone here
    names: dict[str, object] = {}
    printed = ""
    for language, block in CODE.findall(text(page)):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as caught:
                exec(compile(block, str(page), "exec"), names)
            printed = "\n".join(line.rstrip() for line in caught.getvalue().splitlines())
        elif language == "output":
            assert printed == block.rstrip("\n"), f"{page} shows another output; the code before it prints:\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_an_excerpt_of_an_example_is_in_its_file(page: Path) -> None:
    """A block of TOML that begins with the name of an example is a part of it."""
    for language, block in CODE.findall(text(page)):
        name, _, excerpt = block.partition("\n")
        if language == "toml" and name.startswith("# examples/") and not name.endswith(INVENTED):
            assert excerpt in text(Path(name.removeprefix("# "))), f"{page}: not in {name}:\n{excerpt}"


def test_everything_in_the_five_minute_walk_is_run() -> None:
    """Each block of the page is a command, Python, one of their outputs, an example, or setup."""
    for language, block in CODE.findall(text(Path("docs/five-minutes.md"))):
        setting_up = all(line.startswith(("make setup", ". .venv/")) for line in block.splitlines())
        example = language == "toml" and block.startswith("# examples/")
        assert language in ("console", "python", "output") or example or setting_up, block


def shown() -> list[tuple[Path, str, str]]:
    """The commands whose output a page shows.

    They are in blocks of `console`, in which a line with `$` begins a command.
    """
    found = []
    for page in PAGES:
        for language, block in CODE.findall(text(page)):
            if language == "console":
                for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                    command, _, output = part.partition("\n")
                    found.append((page, command, output))
    return found


@pytest.mark.parametrize(
    ("page", "command", "output"), shown(), ids=[f"{page}: {command}" for page, command, _ in shown()]
)
def test_the_output_shown_is_what_the_command_prints(
    page: Path, command: str, output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *arguments = shlex.split(command)
    assert program == "sojourn", f"{page} shows the output of {command}, which is no command of ours"
    monkeypatch.chdir(ROOT)
    for console in (out, err):  # made when they were imported, maybe for another width
        monkeypatch.setattr(console, "width", 120)
    main(arguments)
    said = capsys.readouterr()
    expected = [line.rstrip() for line in output.splitlines()]
    written = any(line.startswith("wrote ") for line in expected)  # a page may leave out which files were written
    lines = [line.rstrip() for line in (said.out + said.err).splitlines() if not line.startswith("cache: ")]
    printed = [line for line in lines if written or not line.startswith("wrote ")]
    if "..." in expected:  # the rest is left out
        expected = expected[: expected.index("...")]
        printed = printed[: len(expected)]
    assert printed == expected, f"{page} shows another output of {command}; it prints:\n" + "\n".join(printed)
