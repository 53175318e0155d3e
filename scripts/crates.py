"""Writes the README.md of each crate that can be published, from its Cargo.toml and the first words of its lib.rs.

    python scripts/crates.py            writes crates/*/README.md

A crate with `publish = false` has none. tests/packaging/test_packaging.py compares what is there.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\[(`[^`\]]+`)\](?![(\[:])")
"""A link to an item: rustdoc knows where it leads."""


def about(library: str) -> str:
    """What the documentation of a crate says: the lines that begin with `//!`."""
    lines = [line.removeprefix("//!").removeprefix(" ") for line in library.splitlines() if line.startswith("//!")]
    text, code = [], False
    for line in lines:
        if line.startswith("```"):
            code, line = not code, "```rust" if line.strip() == "```" and not code else line
        text.append(line if code else LINK.sub(r"\1", line))
    return "\n".join(text).strip()


def crates() -> dict[Path, dict[str, object]]:
    """The packages that can be published, by folder."""
    found = {}
    for file in sorted(ROOT.glob("crates/*/Cargo.toml")):
        package = tomllib.loads(file.read_text(encoding="utf-8"))["package"]
        if package.get("publish", True):
            found[file.parent] = package
    return found


def readme(folder: Path, package: dict[str, object]) -> str:
    """The README of a crate."""
    said = about((folder / "src" / "lib.rs").read_text(encoding="utf-8"))
    return (
        f"# {package['name']}\n\n{said}\n\n"
        "A part of Sojourn, a laboratory for congestion control and queue management.\n\n"
        "## License\n\nApache-2.0 or MIT, as you prefer.\n"
    )


def main() -> int:
    """Writes them."""
    for folder, package in crates().items():
        (folder / "README.md").write_text(readme(folder, package), encoding="utf-8")
        print(f"wrote {(folder / 'README.md').relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
