"""The first build reports its progress without a terminal, on which cargo would show it."""

import importlib.util

from tests.support.source_tree import ROOT

specification = importlib.util.spec_from_file_location("build", ROOT / "scripts" / "build.py")
assert specification is not None
assert specification.loader is not None
build = importlib.util.module_from_spec(specification)
specification.loader.exec_module(build)


def test_a_sentence_is_printed_for_each_tenth():
    bar = [f"    Building [===>      ] {done}/40: toml, serde(build)".encode() for done in range(40)]
    text = b"\r".join([b"   Compiling libc v0.2", *bar]) + b"\n    Finished `release` profile\n"
    kept: list[str] = []
    cut = [text[at : at + 7] for at in range(0, len(text), 7)]
    said = list(build.tenths(build.printed(cut, kept)))
    assert said[:2] == ["compiled 0 of 40 crates", "compiled 4 of 40 crates"]
    assert said[9:] == [
        "compiled 36 of 40 crates",
        "compiled 39 of 40 crates; the last, which is optimized as a whole, takes longest",
    ]
    assert kept[-1] == "    Finished `release` profile"
