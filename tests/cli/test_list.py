"""`sojourn list`: the order of parameters, and the names by which entries are found."""

from sojourn.cli import main


def listed(capsys, *names):
    assert main(["list", *names]) == 0
    return capsys.readouterr().out


def test_what_is_an_algorithms_own_comes_before_what_all_have(capsys):
    own, common = ("alpha", "coupling_factor", "tupdate"), ("ack_filter", "ecn", "limit")
    rows = [line.split()[0] for line in listed(capsys, "aqm", "dualpi2").splitlines() if line[:1].strip()]
    assert max(map(rows.index, own)) < min(map(rows.index, common))


def test_the_columns_of_a_series_are_found_by_its_name_in_a_record(capsys):
    assert "signals/<link>: Series" in listed(capsys, "measures", "signals/bottleneck")
    both = listed(capsys, "measures", "throughput/ftp/0")
    assert "throughput/<link>" in both
    assert "throughput/<flow>" in both
    assert main(["list", "measures", "signal/bottleneck"]) == 2


def test_what_a_caller_supplies_names_the_page_that_explains_it(capsys):
    for kind in ("aqm", "cc"):
        assert "docs/own-algorithms.md" in listed(capsys, kind, "external")


def test_the_parameters_of_one_are_shown(capsys):
    red = listed(capsys, "aqm", "red")
    assert "max_p" in red
    assert "0.1" in red
    assert "table2" in listed(capsys, "papers", "lehto")
    jitter = " ".join(listed(capsys, "impairment", "jitter").split())
    assert "{ uniform = ... }" in jitter
    assert "pareto: Pareto with the minimum" in jitter


def test_a_name_without_its_kind_is_answered_with_the_command_that_lists_it(capsys):
    assert main(["list", "cubic"]) == 2
    assert capsys.readouterr().err.strip().endswith('got "cubic"; `sojourn list cc cubic` lists its parameters')
    assert main(["list", "nothing"]) == 2
    assert capsys.readouterr().err.strip().endswith('got "nothing"')
