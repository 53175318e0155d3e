"""The fuzzy engine agrees with an independent implementation, pyfuzzylite.

The controllers are random. The exact centroids have no quadrature, pyfuzzylite's centroid is the midpoint rule: their
allowed difference is derived in `quadrature_error`. Everything else is the same arithmetic in another order and
agrees to rounding.
"""

import itertools
import json
from dataclasses import dataclass

import fuzzylite as fl
import numpy as np
import pytest

from sojourn import _sojourn

pytestmark = pytest.mark.no_libraries

RESOLUTION = 1000
ROUNDING = 1e-10
TNORMS = {"min": fl.Minimum(), "product": fl.AlgebraicProduct(), "lukasiewicz": fl.BoundedDifference()}
SNORMS = {"max": fl.Maximum(), "probabilistic-sum": fl.AlgebraicSum(), "bounded-sum": fl.BoundedSum()}


@pytest.fixture(autouse=True)
def plain_oracle(monkeypatch):
    """pyfuzzylite with all rules above zero, and without logging.

    By default it ignores weak rules.
    """
    monkeypatch.setattr(fl.lib, "abs_tolerance", 0.0)
    monkeypatch.setattr(fl.Op, "str", staticmethod(lambda *_: ""))
    monkeypatch.setattr(fl.Term, "__str__", lambda _: "")


@dataclass
class Case:
    """A controller: centers, range, triangles and consequents.

    The centers are those of both inputs, range and triangles those of the output, and consequents are by row and
    column.
    """

    rows: list[float]
    columns: list[float]
    output_range: tuple[float, float]
    triangles: list[tuple[float, float, float]]
    table: np.ndarray
    points: np.ndarray

    @property
    def width(self) -> float:
        return self.output_range[1] - self.output_range[0]

    def sojourn(self, **method) -> np.ndarray:
        header = " ".join(f"C{j}" for j in range(len(self.columns)))
        lines = (f"R{i} " + " ".join(f"O{k}" for k in line) for i, line in enumerate(self.table))
        design = {
            "and": "min",
            "implication": "min",
            "aggregation": "max",
            "row": [(f"R{i}", center) for i, center in enumerate(self.rows)],
            "column": [(f"C{j}", center) for j, center in enumerate(self.columns)],
            "output": {"range": self.output_range, "terms": [(f"O{k}", *t) for k, t in enumerate(self.triangles)]},
            "rules": "\n".join([header, *lines]),
            **method,
        }
        return _sojourn.infer(json.dumps(design), *self.points.T.copy())

    def pyfuzzylite(self, and_, implication, aggregation, defuzzifier, terms=None) -> fl.Engine:
        low, high = self.output_range
        terms = terms or [fl.Triangle(f"O{k}", *t) for k, t in enumerate(self.triangles)]
        output = fl.OutputVariable(
            "out", minimum=low, maximum=high, aggregation=aggregation, defuzzifier=defuzzifier, terms=terms
        )
        inputs = [
            fl.InputVariable("row", minimum=self.rows[0], maximum=self.rows[-1], terms=shoulders("R", self.rows)),
            fl.InputVariable(
                "column", minimum=self.columns[0], maximum=self.columns[-1], terms=shoulders("C", self.columns)
            ),
        ]
        rules = [
            fl.Rule.create(f"if row is R{i} and column is C{j} then out is O{k}")
            for (i, j), k in np.ndenumerate(self.table)
        ]
        block = fl.RuleBlock(
            "rules", conjunction=TNORMS[and_], implication=TNORMS[implication], activation=fl.General(), rules=rules
        )
        return fl.Engine(
            "engine", input_variables=inputs, output_variables=[output], rule_blocks=[block], load_rules=True
        )


def shoulders(letter: str, centers: list[float]) -> list[fl.Term]:
    """Triangles that reach their neighbors' centers, open at both ends."""
    sides = [-np.inf, *centers, np.inf]
    return [fl.Triangle(f"{letter}{i}", *sides[i : i + 3]) for i in range(len(centers))]


def random_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)

    def centers():
        steps = rng.uniform(0.2, 1.0, rng.integers(3, 8))
        return np.cumsum(steps) * 10.0 ** rng.integers(-2, 3) - rng.uniform(0, 3)

    rows, columns = centers(), centers()
    low, width = rng.uniform(-2, 2), 10.0 ** rng.uniform(-2, 2)
    triangles = []
    for _ in range(rng.integers(3, 8)):
        peak = rng.choice([0.0, 1.0, rng.uniform(0.05, 0.95)])
        left, right = max(0.0, peak - rng.uniform(0.1, 0.6)), min(1.0, peak + rng.uniform(0.1, 0.6))
        triangles.append(tuple(float(low + width * x) for x in (left, peak, right)))
    # A tenth of the range on either side goes to the shoulders.
    points = np.column_stack([rng.uniform(c[0] - np.ptp(c) / 10, c[-1] + np.ptp(c) / 10, 3) for c in (rows, columns)])
    table = rng.integers(0, len(triangles), (len(rows), len(columns)))
    return Case(rows.tolist(), columns.tolist(), (low, low + width), triangles, table, points)


def fired(engine: fl.Engine, point: np.ndarray) -> fl.OutputVariable:
    """The output with the rules that fire at a point, not yet defuzzified."""
    for variable, value in zip(engine.input_variables, point, strict=True):
        variable.value = float(value)
    (output,) = engine.output_variables
    output.fuzzy.clear()
    engine.rule_blocks[0].activate()
    return output


def processed(engine: fl.Engine, point: np.ndarray) -> fl.OutputVariable:
    """The output with its number, as pyfuzzylite runs an engine."""
    output = fired(engine, point)
    engine.process()
    return output


def by_term(output: fl.OutputVariable, across: fl.SNorm, implication: str) -> fl.Aggregated:
    """The output's set as Sojourn computes it.

    Rules for one term are combined first, then the terms' sets `across` terms.
    """
    degrees = [(term, output.fuzzy.activation_degree(term)) for term in output.terms]
    cuts = [fl.Activated(term, degree, TNORMS[implication]) for term, degree in degrees if degree > 0]
    return fl.Aggregated("set", output.minimum, output.maximum, across, cuts)


def quadrature_error(fuzzy: fl.Aggregated, width: float, sums: bool = False) -> float:
    """The largest error of the midpoint rule's centroid, in the unit of the output.

    The exact centroid is `c`. The set `f` is piecewise linear; it jumps, if at all, at the ends of its range, which
    are ends of cells. On a cell of width h the rule misses at most `V h^2/8` of the area (Peano's kernel), V being
    the variation of the slope there, and of the moment about c `width V h^2/8` and `L h^3/12` (L the steepest slope)
    for the part that varies about the middle. The true moment about c is 0, so the centroid is off by the missed
    moment over the area found, and that area is at least the largest cut triangle's, half its width by its strength,
    less what is missed of it.

    Each of T sets has at most four corners, where its slope changes by at most 2 L; between two of the 4 T corners in
    a row the union is an envelope of T lines, with at most T - 1 more kinks of at most 2 L. A sum (`sums`) has no
    such kinks, but slopes up to T L.
    """
    h = width / RESOLUTION
    steepest, area = 0.0, 0.0
    for cut in fuzzy.terms:
        triangle = cut.term
        edges = [side for side in (triangle.top - triangle.left, triangle.right - triangle.top) if side > 0]
        steepest = max(steepest, *(1 / side for side in edges))
        area = max(area, (triangle.right - triangle.left) * cut.degree / 2)
    count = len({cut.term.name for cut in fuzzy.terms})
    steepest *= count if sums else 1
    variation = 2 * steepest * (4 * count + (4 * count - 1) * (count - 1))
    missed = width * variation * h**2 / 8 + width * steepest * h**2 / 12
    return missed / (area - variation * h**2 / 8) + ROUNDING * width


@pytest.mark.parametrize(
    ("and_", "implication", "first"),
    [("min", "min", 0), ("min", "product", 60), ("product", "min", 120), ("product", "product", 180)],
)
def test_the_centroid_of_random_controllers_is_pyfuzzylites(and_, implication, first):
    for seed in range(first, first + 60):
        case = random_case(seed)
        method = {"and": and_, "implication": implication}
        exact = case.sojourn(defuzzifier="centroid", **method)
        sampled = case.sojourn(defuzzifier="sampled-centroid", points=RESOLUTION, **method)
        engine = case.pyfuzzylite(and_, implication, fl.Maximum(), fl.Centroid(RESOLUTION))
        for point, mine, same in zip(case.points, exact, sampled, strict=True):
            output = processed(engine, point)
            bound = quadrature_error(output.fuzzy, case.width)
            assert bound < case.width / 50, "the bound says something"
            assert abs(mine - output.value) <= bound, (seed, point)
            assert same == pytest.approx(output.value, rel=ROUNDING, abs=ROUNDING * case.width), (seed, point)


@pytest.mark.parametrize("and_", TNORMS)
def test_the_mean_over_rules_is_a_takagi_sugeno_average_of_the_peaks(and_):
    for seed in range(200):
        case = random_case(seed)
        mine = case.sojourn(defuzzifier="rule-mean", **{"and": and_})
        peaks = [fl.Constant(f"O{k}", triangle[1]) for k, triangle in enumerate(case.triangles)]
        engine = case.pyfuzzylite(and_, "min", None, fl.WeightedAverage("TakagiSugeno"), peaks)
        theirs = [processed(engine, point).value for point in case.points]
        assert mine == pytest.approx(theirs, rel=ROUNDING, abs=ROUNDING * case.width, nan_ok=True), seed


@pytest.mark.parametrize(("and_", "aggregation"), list(itertools.product(TNORMS, SNORMS)))
def test_the_mean_over_terms_weighs_peaks_by_pyfuzzylites_degrees(and_, aggregation):
    for seed in range(70):
        case = random_case(seed)
        mine = case.sojourn(defuzzifier="term-mean", aggregation=aggregation, **{"and": and_})
        engine = case.pyfuzzylite(and_, "min", SNORMS[aggregation], None)
        for point, value in zip(case.points, mine, strict=True):
            output = fired(engine, point)
            degrees = np.array([output.fuzzy.activation_degree(term) for term in output.terms])
            theirs = degrees @ [term.top for term in output.terms] / degrees.sum() if degrees.any() else np.nan
            assert value == pytest.approx(theirs, rel=ROUNDING, abs=ROUNDING * case.width, nan_ok=True), (seed, point)


@pytest.mark.parametrize(
    ("and_", "implication", "aggregation"), list(itertools.product(TNORMS, ["min", "product"], SNORMS))
)
def test_a_sampled_centroid_takes_every_norm_as_pyfuzzylite_does(and_, implication, aggregation):
    for seed in range(12):
        case = random_case(seed)
        method = {"and": and_, "implication": implication, "aggregation": aggregation}
        mine = case.sojourn(defuzzifier="sampled-centroid", points=200, **method)
        engine = case.pyfuzzylite(and_, implication, SNORMS[aggregation], None)
        for point, value in zip(case.points, mine, strict=True):
            fuzzy = by_term(fired(engine, point), SNORMS[aggregation], implication)
            theirs = fl.Centroid(200).defuzzify(fuzzy, *case.output_range) if fuzzy.terms else np.nan
            assert value == pytest.approx(theirs, rel=ROUNDING, abs=ROUNDING * case.width, nan_ok=True), (seed, point)


@pytest.mark.parametrize("implication", ["min", "product"])
def test_the_center_of_sums_is_the_centroid_of_pyfuzzylites_unbounded_sum(implication):
    for seed in range(40):
        case = random_case(seed)
        mine = case.sojourn(defuzzifier="center-of-sums", implication=implication)
        engine = case.pyfuzzylite("min", implication, fl.Maximum(), None)
        for point, value in zip(case.points, mine, strict=True):
            fuzzy = by_term(fired(engine, point), fl.UnboundedSum(), implication)
            theirs = fl.Centroid(RESOLUTION).defuzzify(fuzzy, *case.output_range)
            assert abs(value - theirs) <= quadrature_error(fuzzy, case.width, sums=True), (seed, point)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"and": "most"}, 'design.and: expected one of min, product, lukasiewicz, got "most"'),
        ({"points": "many"}, 'design.points: expected a whole number, got "many"'),
        ({"defuzzifier": "centroid", "aggregation": "bounded-sum"}, "design: aggregation: expected"),
    ],
)
def test_a_design_that_is_none_is_refused(change, said):
    with pytest.raises(_sojourn.ScenarioError) as caught:
        random_case(0).sojourn(**{"defuzzifier": "term-mean", **change})
    assert str(caught.value).startswith(said)
