"""Adds papers, studies and examples to wheels that maturin has built: `python scripts/wheel.py WHEEL...`.

maturin packs only `python/`. In a wheel, `papers/` and `studies/` are in `sojourn/experiments/`, and `examples/` is in
`sojourn/`. Commands look there last. pip and uv call scripts/backend.py, which does the same.
"""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def data() -> dict[str, bytes]:
    """The files of all papers, studies and examples, by their names in a wheel."""
    shown = [*ROOT.glob("examples/*.*"), *ROOT.glob("examples/traces/*")]
    kept = {f"sojourn/{file.relative_to(ROOT).as_posix()}": file.read_bytes() for file in sorted(shown)}
    return papers() | kept


def papers() -> dict[str, bytes]:
    """The files of all papers and studies, by their names in a wheel."""
    found = [file for kind in ("papers", "studies") for file in ROOT.glob(f"{kind}/*/experiment.toml")]
    folders = sorted(file.parent for file in found)
    files = [file for folder in folders for file in sorted(folder.rglob("*")) if file.is_file()]
    kept = [file for file in files if "__pycache__" not in file.parts]
    return {"sojourn/experiments/" + file.relative_to(ROOT).as_posix(): file.read_bytes() for file in kept}


def row(name: str, content: bytes) -> str:
    """A file's line in the record of a wheel, as PEP 376 and PEP 427 have it."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def add(wheel: Path) -> int:
    """Writes the wheel again with its data in it; says how many files were added. A wheel that has them stays."""
    made = wheel.with_suffix(".part")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        added = {name: content for name, content in data().items() if name not in old.namelist()}
        for info in old.infolist():
            content = old.read(info)
            if info.filename.endswith(".dist-info/RECORD"):
                content += "".join(row(*each) for each in added.items()).encode()
            new.writestr(info, content)
        for name, content in added.items():
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            new.writestr(info, content)
    made.replace(wheel)
    return len(added)


def main(wheels: list[str]) -> int:
    """Adds the data to each wheel; returns 1 without any wheel."""
    if not wheels:
        print("wheel: expected one or more, got none", file=sys.stderr)
        return 1
    for wheel in map(Path, wheels):
        print(f"{wheel.name}: {add(wheel)} files of papers, studies and examples added")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
