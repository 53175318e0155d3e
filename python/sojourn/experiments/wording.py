"""The words of reports and of the terminal, for papers and for own experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sojourn.experiments.schema.claims import Origin
from sojourn.experiments.verdict import Verdict


@dataclass(frozen=True)
class OriginText:
    """How claims of one origin are headed."""

    title: str
    says: str
    """What stands above the claims."""


ORIGINS: dict[Origin, OriginText] = {
    "paper": OriginText("The paper's", "what the paper says"),
    "theory": OriginText("Formulas of ours: what is computed is what they give", "what the formula says"),
    "judge": OriginText("Other simulators: points that they gave with the same settings", "what the other one gave"),
    "ours": OriginText("Ours: what the paper does not say", "what we say"),
}
"""Who says a claim, in the order of the page."""

_RULE = (
    "A part of a claim {holds} if the whole 95 % confidence interval over the seeds lies in its target, {misses} "
    "if no value of the interval does, and {open} if the interval straddles an edge of the target. The interval "
    "has no values that the measure cannot have, such as a share above 1. A part is a "
    "number, or a direction: a sign or an order. A number may have a direction of its own, which can hold where the "
    "number is missed. A claim {holds} if all its parts {do}. It {holds} in direction if numbers are missed "
    "but all its directions hold, and there is one. It {fails} if a direction fails, or a number is missed "
    "and there is no direction. It is undecided if an undecided part could still change that. {omitted}"
    "A part among several counts as missed only if Holm's correction over the parts confirms it. "
    "A claim {holds} by a fit if a value that was left open was chosen for the number of one of its parts. "
    "A single run, "
    "and a number that needs no run, has no interval: its value decides."
)


@dataclass(frozen=True)
class Wording:
    """How a report names things."""

    rule: str
    """The rule of verdicts."""
    verdicts: Mapping[str, str]
    """The word of each verdict."""
    origins: Mapping[Origin, OriginText]
    rare: tuple[Verdict, ...] = ()
    """Verdicts that counts leave out if no claim has them."""
    claims: str = "claims of the paper"
    others: str = "Not the paper's"
    part: str = "A part of the paper"
    whole: str = "not the whole rerun"
    ran: str = "Rerun"
    grids: str = "rerun in"
    deviations: str = "What is read differently, and what was tried"
    source: str = "The paper"
    mutants: str = "Wrong versions of the paper's algorithm"
    optional: str = "Studies of ours that a whole rerun leaves out"
    notes: str = "What the paper says and nothing here can test."
    noted: str = "what the paper says"
    index: str = "Reproduced papers"
    """The title of the page of all reports."""
    about_index: str = (
        "What each paper says, and what became of it in its last rerun. Only claims that the paper itself makes are "
        "counted; every verdict is computed from the runs."
    )
    is_paper: bool = True

    def word(self, verdict: Verdict) -> str:
        """The word of a verdict."""
        return self.verdicts[str(verdict)]

    def counted(self, counts: Mapping[Verdict, int]) -> dict[str, int]:
        """The counts by word; without the rare verdicts that no claim has."""
        return {self.word(verdict): count for verdict, count in counts.items() if count or verdict not in self.rare}

    def counts_text(self, verdicts: Sequence[Verdict], every: bool = False) -> str:
        """The number of claims with each verdict; `every` one also if none has it.

        It is `3 reproduced, 1 undecided` for a paper and `holds: 3, undecided: 1` for an own experiment.
        """
        counts = self.counted({verdict: verdicts.count(verdict) for verdict in Verdict})
        said = [(word, count) for word, count in counts.items() if count or every]
        return ", ".join(f"{count} {word}" if self.is_paper else f"{word}: {count}" for word, count in said)


PAPER = Wording(
    _RULE.format(
        holds="is reproduced",
        misses="missed",
        open="undecided",
        do="are",
        fails="is not reproduced",
        omitted=("It is not decidable from the paper if readings of what the paper omits give different verdicts. "),
    ),
    {str(verdict): str(verdict) for verdict in Verdict},
    ORIGINS,
)
"""For a paper."""
OWN = Wording(
    _RULE.format(holds="holds", misses="is missed", open="is undecided", do="hold", fails="does not hold", omitted=""),
    {
        str(Verdict.REPRODUCED): "holds",
        str(Verdict.BY_FIT): "holds by a fit",
        str(Verdict.IN_DIRECTION): "holds in direction",
        str(Verdict.NOT_REPRODUCED): "does not hold",
        str(Verdict.UNDECIDED): "undecided",
        str(Verdict.NOT_DECIDABLE): "depends on the reading",
    },
    {
        "ours": OriginText("Own claims", "claim"),
        "paper": OriginText("Claims of a paper", "what the paper says"),
        "theory": OriginText("Formulas", "what the formula says"),
        "judge": OriginText("Other simulators: points with the same settings", "what the other one gave"),
    },
    rare=(Verdict.BY_FIT, Verdict.IN_DIRECTION, Verdict.NOT_DECIDABLE),
    claims="claims",
    others="Other claims",
    part="A part of the experiment",
    whole="not the whole experiment",
    ran="Run",
    grids="grid",
    deviations="Open parameters and deviations",
    source="Source",
    mutants="Wrong versions",
    optional="Optional grids that were not run",
    notes="Statements that nothing here can test.",
    noted="statement",
    index="Experiments",
    about_index="The claims of each experiment in its last run. Every verdict is computed from the runs.",
    is_paper=False,
)
"""For an experiment without a venue."""


def wording_of(origin: Origin) -> Wording:
    """The words of an experiment whose own claims have this origin."""
    return PAPER if origin == "paper" else OWN
