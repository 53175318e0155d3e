"""The kinds of plots of the command line."""

OVERVIEW, MEANS, HEAT, CONTOUR = "overview", "means", "heat", "contour"
PLOTS = {
    "traces": "of a run: each kind of series over time, and distributions of traced samples",
    OVERVIEW: "of a comparison: all measures on one page, with intervals",
    MEANS: "of a comparison or a sweep: one measure with intervals, by case or over the axes",
    HEAT: "of a sweep over two axes: one measure as colored cells with its values",
    CONTOUR: "of a sweep over two axes of numbers: one measure as contour lines",
    "cdf": "of a comparison: `compare --cdf wait,rtt,completion --out FOLDER` draws distributions by case",
    "sizes": "of a comparison: `compare --sizes '10 kB,1 MB' --out FOLDER` draws completion times by size of transfer",
    "loop": "of a queue law: `analyze --out FOLDER` draws Bode, Nyquist, step response, trajectory and spectrum",
    "figures": "of an experiment: `sojourn list figures` lists their kinds",
}
"""What can be plotted, for `sojourn list plots`."""
