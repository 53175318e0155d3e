"""The interface between the kernel's driver in C and the network in Rust: both sides agree."""

import re
from pathlib import Path

import pytest

from sojourn.core.errors import RunError
from sojourn.linux import build
from tests.support.source_tree import ROOT

LINUX = ROOT / "hosts" / "linux"

pytestmark = pytest.mark.no_libraries


def test_both_sides_check_the_same_sizes_and_offsets() -> None:
    """The C and the Rust compiler each check one of the tables; this compares the tables."""
    text = (LINUX / "abi/src/layout.rs").read_text(encoding="utf-8")
    found = re.findall(r"^layout!\((\w+): \w+, (\d+) \{(.*?)\}\);", text, re.MULTILINE | re.DOTALL)
    rust = {name: {"size": size, **dict(re.findall(r"(\w+): (\d+),", fields))} for name, size, fields in found}
    text = (LINUX / "kernel/layout.h").read_text(encoding="utf-8")
    c = {name: {"size": size} for name, size in re.findall(r"^SIZE\((\w+), (\d+)\);", text, re.MULTILINE)}
    for name, field, offset in re.findall(r"^FIELD\((\w+), (\w+), (\d+)\);", text, re.MULTILINE):
        c[name][field] = offset
    # Rust checks the fields of this one beside it (crates/linux/src/header.rs), since they are private.
    assert c["sojourn_header"].pop("length") == "0"
    assert c["sojourn_header"].pop("bytes") == "1"
    assert rust == c
    assert len(rust) == 10


def test_the_checks_name_every_field_of_a_struct_in_c() -> None:
    declared = (LINUX / "kernel/sojourn.h").read_text(encoding="utf-8")
    text = (LINUX / "kernel/layout.h").read_text(encoding="utf-8")
    for name in re.findall(r"^SIZE\((\w+),", text, re.MULTILINE):
        body = re.search(rf"^struct {name} \{{\n(.*?)^\}};", declared, re.MULTILINE | re.DOTALL)
        assert body
        fields = re.findall(r"(\w+)(?:\[\d+\])?;", body[1])
        assert re.findall(rf"^FIELD\({name}, (\w+),", text, re.MULTILINE) == fields


def test_flags_have_the_same_bits_on_both_sides() -> None:
    rust = re.findall(
        r"pub const (\w+): u8 = (\d+);", (ROOT / "crates/linux/src/packet.rs").read_text(encoding="utf-8")
    )
    listed = re.search(
        r"^enum \{ (SYN = .*) \};$", (LINUX / "kernel/sojourn.h").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert listed
    assert re.findall(r"(\w+) = (\d+)", listed[1]) == rust


def test_each_function_of_the_interface_is_declared_in_c() -> None:
    rust = "".join(path.read_text(encoding="utf-8") for path in (LINUX / "abi/src").glob("*.rs"))
    declared = (LINUX / "kernel/sojourn.h").read_text(encoding="utf-8")
    exported, imported = (
        re.findall(r'extern "C" fn (\w+)', rust),
        re.findall(r"^    (?:safe )?fn (sojourn_\w+)", rust, re.MULTILINE),
    )
    assert len(exported) > 40
    assert len(imported) > 5
    for name in exported + imported:
        assert len(re.findall(rf"\b{name}\(", declared)) == 1, name


def test_every_unsafe_block_says_why_it_is_sound() -> None:
    for path in (LINUX / "abi/src").glob("*.rs"):
        lines = path.read_text(encoding="utf-8").splitlines()
        for at, line in enumerate(lines):
            if re.search(r"unsafe (\{|impl)", line):
                above = "\n".join(lines[max(at - 3, 0) : at])
                assert "// SAFETY: " in above, f"{path.name}:{at + 1}"


@pytest.mark.parametrize(
    ("line", "said"), [("CONFIG_SMP=y", "expected CONFIG_SMP to be off"), ("CONFIG_SMP=m", "CONFIG_SMP to be off")]
)
def test_a_kernel_for_several_cpus_is_refused(line: str, said: str, tmp_path: Path) -> None:
    """The driver has no locks. Its header also rejects such a kernel."""
    wanted = (LINUX / "kernel.config").read_text(encoding="utf-8")
    config = tmp_path / ".config"
    config.write_text(wanted, encoding="utf-8")
    build.check_config(config)
    config.write_text(f"{wanted}{line}\n", encoding="utf-8")
    with pytest.raises(RunError, match=said):
        build.check_config(config)
