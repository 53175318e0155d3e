"""Tables in LaTeX, to paste into a paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

PREAMBLE = "% \\usepackage{booktabs} \\usepackage{xcolor}\n"
"""The packages that a table needs."""
SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "±": r"$\pm$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "…": r"\dots{}",
    "µ": r"$\mu$",
    "·": r"$\cdot$",
    "–": "--",
    "×": r"$\times$",
    "≈": r"$\approx$",
}


def escaped(text: str) -> str:
    """A text as LaTeX prints it."""
    return "".join(SIGNS.get(sign, sign) for sign in text)


def tabular(heads: Sequence[str], rows: Iterable[Sequence[str]], names: int, wide: int | None = None) -> str:
    """A table whose first columns are names. Column `wide` has a width, so that it wraps."""
    columns = "".join(r"p{0.4\linewidth}" if i == wide else "l" if i < names else "r" for i in range(len(heads)))
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _line(map(escaped, heads)), r"\midrule"]
    return PREAMBLE + "\n".join([*lines, *map(_line, rows), r"\bottomrule", r"\end{tabular}"]) + "\n"


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"
