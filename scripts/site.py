"""Writes the pages of the site into build/pages; `make docs` then gives them to Sphinx.

    python scripts/site.py             needs the extras of `make setup`

The pages are the documents of the repository, the lists that the commands print, the docstrings, the papers, and the
gallery, whose scripts are run.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import typer.main

import sojourn as sj
from sojourn import _sojourn
from sojourn.cli import app, listing

ROOT = Path(__file__).parent.parent
OUT = ROOT / "build" / "pages"
PAGES = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "STYLE.md", "papers/README.md"]
LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def pages() -> list[Path]:
    """The documents that become pages."""
    return [Path(name) for name in PAGES] + [path.relative_to(ROOT) for path in sorted(ROOT.glob("docs/*.md"))]


def title(file: Path) -> str:
    """The title of a document."""
    return file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def on_site(page: Path, text: str) -> str:
    """A document as a page.

    A link that shows the name of a document shows its title instead. A link to a file that is not on the site becomes
    the name of the file.
    """
    there = {(ROOT / path).resolve() for path in pages()}

    def link(found: re.Match[str]) -> str:
        image, words, target, _ = found.groups()
        if image or not target or "://" in target:
            return found[0]
        file = (ROOT / page.parent / target).resolve()
        if file in there:
            return (
                found[0].replace(words, title(file), 1) if words == target or words == f"docs/{file.name}" else found[0]
            )
        return words if "`" in words else f"{words} (`{file.relative_to(ROOT)}`)"

    parts = re.split(r"(^ *```.*?^ *```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(
        part.replace("```output", "```text") if i % 2 else LINK.sub(link, part) for i, part in enumerate(parts)
    )


def write(name: str, text: str) -> None:
    """Writes a page."""
    file = OUT / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.rstrip() + "\n", encoding="utf-8")


def cell(value: object) -> str:
    """A cell of a table."""
    text = json.dumps(value) if isinstance(value, bool) else str("" if value is None else value)
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def table(heads: list[str], rows: list[list[object]]) -> str:
    """A table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines) + "\n"


def stacked(rows: str) -> str:
    """A table whose cells stand below each other on a phone."""
    return f'<div class="stacked">\n\n{rows}\n</div>'


def commands() -> str:
    """Every command with its arguments and options."""
    said = ["# Commands", "`sojourn --help` and `sojourn COMMAND --help` print the same text."]
    group: Any = typer.main.get_command(app)

    def show(name: str, command: Any) -> None:
        if hasattr(command, "commands"):
            for each, part in sorted(command.commands.items()):
                show(f"{name} {each}", part)
            return
        said.extend([f"## {name}", inspect.cleandoc(command.help or "")])
        rows: list[list[object]] = []
        for each in command.params:
            words = [*each.opts, *each.secondary_opts] if each.param_type_name == "option" else [each.name.upper()]
            if words != ["--help"]:
                default = "" if each.default in (None, False, ()) or each.required else each.default
                rows.append([", ".join(f"`{word}`" for word in words), default, getattr(each, "help", "")])
        if rows:
            said.append(stacked(table(["argument or option", "default", "meaning"], rows)))

    show("sojourn", group)
    return "\n\n".join(said)


ALGORITHMS = {
    "aqm": ("Queue disciplines", "queue discipline", 'queue = {{ aqm = "{}" }}'),
    "cc": ("Congestion controllers", "congestion controller", 'control = {{ cc = "{}" }}'),
    "traffic": ("Traffic", "traffic", 'traffic = {{ kind = "{}" }}'),
    "impairment": ("Impairments", "impairment", 'impairments = [{{ kind = "{}" }}]'),
}
"""The title of each kind of algorithm, one of them, and how a scenario names it."""


def algorithms(kind: str) -> None:
    """A page for each algorithm of a kind, so that a search finds it by its name, and one that lists them."""
    title, one, written = ALGORITHMS[kind]
    entries = listing._entries(kind)
    for entry in entries:
        parameters = [[f"`{p['name']}`", p["default"], p["values"], p["summary"]] for p in entry["parameters"]]
        said = [
            f"# {entry['name']}: {one}",
            f"{entry['summary'][0].upper()}{entry['summary'][1:]}.",
            f"```toml\n{written.format(entry['name'])}\n```",
            stacked(table(["parameter", "default", "values", "meaning"], parameters))
            if parameters
            else "No parameters.",
            f"`sojourn list {kind} {entry['name']}` prints this table.",
        ]
        write(f"reference/{kind}/{entry['name']}.md", "\n\n".join(said))
    rows = "\n".join(f"| [{each['name']}]({each['name']}.md) | {cell(each['summary'])} |" for each in entries)
    names = "\n".join(f"{each['name']} <{each['name']}>" for each in entries)
    contents = f"```{{toctree}}\n:hidden:\n\n{names}\n```"
    write(f"reference/{kind}/index.md", f"# {title}\n\n| name | what it is |\n| --- | --- |\n{rows}\n\n{contents}")


def python() -> str:
    """The page of `import sojourn as sj`, for which autodoc reads the docstrings."""
    said = ["# Python", inspect.cleandoc(sj.__doc__ or "")]
    for name in sj.__all__:
        kind, rest = ("class", "\n   :members:") if inspect.isclass(getattr(sj, name)) else ("function", "")
        said += [f"## {name}", f"```{{eval-rst}}\n.. auto{kind}:: sojourn.{name}{rest}\n```"]
    return "\n\n".join(said)


def rust() -> str:
    """The crates; `cargo doc` makes the rest."""
    rows: list[list[object]] = []
    for file in sorted(ROOT.glob("crates/*/Cargo.toml")):
        package = tomllib.loads(file.read_text(encoding="utf-8"))["package"]
        if package.get("publish", True):
            rows.append([f"`{package['name']}`", package["description"]])
    said = "`cargo doc --workspace --no-deps --open` makes the documents of these crates:"
    return "\n\n".join(["# Rust", said, table(["crate", "what is in it"], rows)])


def paper(folder: Path) -> str:
    """A paper: what it says, which claims are checked, and what was read differently."""
    about = tomllib.loads((folder / "experiment.toml").read_text(encoding="utf-8"))
    claims = tomllib.loads((folder / "claims.toml").read_text(encoding="utf-8")).get("claims", [])
    deviations = tomllib.loads((folder / "deviations.toml").read_text(encoding="utf-8")).get("deviations", [])
    alias = about["aliases"][0] if about.get("aliases") else about["id"]
    said = [
        f"# {about['title']}",
        f"{', '.join(about['authors'])}. {about['venue']}, {about['year']}.",
        about["summary"],
        f"`sojourn reproduce {alias}` reruns it and computes the verdicts.",
        "## Claims",
        table(["", "where", "what the paper says"], [[c["id"], c["where"], c["text"]] for c in claims]),
        "## What was read differently",
        table(["", "what", "paper", "here"], [[d["id"], d["what"], d["paper"], d["here"]] for d in deviations]),
    ]
    return "\n\n".join(said)


def papers() -> None:
    """A page for each paper, and one that lists them."""
    folders = [file.parent for file in sorted(ROOT.glob("papers/*/experiment.toml"))]
    for folder in folders:
        write(f"papers/{folder.name}.md", paper(folder))
    names = "\n".join(folder.name for folder in folders)
    write("papers/index.md", f"# Claims, paper by paper\n\n```{{toctree}}\n:maxdepth: 1\n\n{names}\n```")


def gallery() -> None:
    """Runs the scripts of the gallery: a page for each with its figure and its code."""
    import matplotlib

    matplotlib.use("Agg")
    names, shown = [], []
    for file in sorted(ROOT.glob("docs/gallery/*.py")):
        code = file.read_text(encoding="utf-8")
        title, _, text = (ast.get_docstring(ast.parse(code)) or "").partition("\n\n")
        found: dict[str, Any] = {}
        exec(compile(code, str(file), "exec"), found)
        image = OUT / "gallery" / f"{file.stem}.png"
        image.parent.mkdir(parents=True, exist_ok=True)
        found["axes"].figure.savefig(image, dpi=120, bbox_inches="tight")
        body = code.split('"""', 2)[2].strip()
        write(
            f"gallery/{file.stem}.md", f"# {title}\n\n{text}\n\n![{title}]({file.stem}.png)\n\n```python\n{body}\n```"
        )
        shown.append(f"[{title}]({file.stem}.md)\n\n[![{title}]({file.stem}.png)]({file.stem}.md)")
        names.append(file.stem)
    said = ["# Gallery", "Each figure leads to all of its code.", *shown]
    write("gallery/index.md", "\n\n".join([*said, "```{toctree}\n:hidden:\n", *names, "```"]))


def playground() -> None:
    """The page that runs the engine, if `make playground` has built it."""
    made = ROOT / "build" / "playground" / "site"
    if made.is_dir():
        shutil.copytree(made, OUT / "files" / "playground")
        page = OUT / "docs" / "playground.md"
        opened = '<p><a href="../playground/index.html">Open the playground</a></p>'
        page.write_text(page.read_text(encoding="utf-8").replace("\n\n", f"\n\n{opened}\n\n", 1), encoding="utf-8")
        index = OUT / "index.md"
        button = "[Playground](docs/playground.md){.button}"
        running = '<a class="button" href="playground/index.html">Playground</a>'
        index.write_text(index.read_text(encoding="utf-8").replace(button, running), encoding="utf-8")
    else:
        print("playground: not in the site; `make playground` makes it")


def main() -> int:
    """Writes all pages."""
    shutil.rmtree(OUT, ignore_errors=True)
    for page in pages():
        write(str(page), on_site(page, (ROOT / page).read_text(encoding="utf-8")))
    shutil.copytree(ROOT / "docs" / "images", OUT / "docs" / "images")
    index = (ROOT / "docs" / "site" / "index.md").read_text(encoding="utf-8")
    write("index.md", index.replace("](../", "](docs/"))
    write("reference/commands.md", commands())
    for kind in ALGORITHMS:
        algorithms(kind)
    write("reference/python.md", python())
    write("reference/rust.md", rust())
    write("files/scenario.schema.json", json.dumps(json.loads(_sojourn.schema()), indent=1))
    papers()
    gallery()
    playground()
    print(f"wrote {OUT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
