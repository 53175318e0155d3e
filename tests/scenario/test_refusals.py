"""Rejected input of the Python interface and the commands, with the error messages."""

import numpy as np
import pytest

import sojourn as sj
from sojourn.analysis import Loop, Plant
from sojourn.cli import main
from sojourn.core.files import together, write_atomic


@pytest.mark.parametrize("seed", [-1, 2**63, "x", 1.5, None])
def test_a_seed_that_is_no_whole_number_is_refused(dumbbell, seed):
    with pytest.raises(sj.UserError, match="expected a whole number, 0 to"):
        sj.run_many(dumbbell, seeds=[seed])


def test_one_run_refuses_it_too(dumbbell):
    with pytest.raises(sj.UserError, match=r"seed: expected .*, got -1"):
        sj.run(dumbbell, seed=-1)


def test_seeds_of_numpy_are_whole_numbers(dumbbell):
    assert len(sj.run_many(dumbbell, seeds=list(np.arange(1, 3)))[0]) == 2


def test_fewer_threads_than_none_are_refused(dumbbell):
    with pytest.raises(sj.UserError, match=r"threads: expected .*, got -1"):
        sj.run_many(dumbbell, threads=-1)


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 5000, "a = " + "[" * 5000 + "]" * 5000, "a =", '"a\\nb" = 1\na.b = {'],
)
def test_a_text_that_cannot_be_read_is_refused_in_one_line(text):
    with pytest.raises(ValueError, match=r"not TOML|nested") as error:
        sj.loads(text + "\n")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"a = 1\n b = {'9' * 5000}", "expected a whole number of at most 9223372036854775807, got one of more digits"),
        (f"a = 1\n{'x.' * 100_000}x = 1", "expected a key of at most 32 parts, got one of more"),
        (f"a = 1\n[{'x.' * 100_000}x]", "expected a key of at most 32 parts, got one of more"),
    ],
)
@pytest.mark.parametrize("read", [sj.load, sj.sweep])
def test_a_number_or_a_key_that_is_too_long_has_its_place(tmp_path, text, problem, read):
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(ValueError, match=rf"x.toml:2:[126]: {problem}$"):
        read(tmp_path / "x.toml")


def test_a_name_with_a_nul_is_refused(tmp_path, dumbbell):
    with pytest.raises(sj.UserError, match="expected the name of a scenario, got one with a NUL"):
        sj.load("a\0b")
    (tmp_path / "s.toml").write_text('scenario = "a\\u0000b"\n[axes]\nduration = ["1 s"]\n')
    with pytest.raises(sj.UserError, match="got one with a NUL"):
        sj.sweep(tmp_path / "s.toml")
    with pytest.raises(OSError, match="cannot be written"):
        sj.run(dumbbell).save(str(tmp_path / "a\0b"))


@pytest.mark.parametrize(
    "text", ["[]", "3", '{"links": 3}', '{"links": [1]}', '{"flows": [{}]}', "[" * 5000, "{", "\xff"]
)
def test_what_is_no_record_is_refused_in_one_line(tmp_path, text):
    with together(tmp_path):
        write_atomic(tmp_path / "record.json", text)
    with pytest.raises(sj.UserError, match=r"record.json: expected a record, got") as error:
        sj.Record.read(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("queues", [[], {}, ""])
def test_a_comparison_of_nothing_is_refused(dumbbell, queues):
    with pytest.raises(sj.UserError, match="expected one or more"):
        sj.compare(dumbbell, queues)


def test_queues_may_be_text_as_on_the_command_line(dumbbell):
    found = sj.compare(dumbbell, "droptail,red(min=5,max=15)", seeds=1)
    assert list(found.records) == ["droptail", "red(min=5,max=15)"]


def test_an_axis_without_a_list_is_refused(dumbbell):
    with pytest.raises(sj.ScenarioError, match=r'axes\."flows\.ftp\.count": .*5'):
        sj.sweep(dumbbell, {"flows.ftp.count": 5})


def test_plants_of_what_is_no_number_are_refused():
    with pytest.raises(sj.UserError, match=r"^plant: capacity: expected a number of packets per second, .*, got nan$"):
        Loop({"aqm": "red"}, Plant.of(3, float("nan"), 0.1)).point()


def test_describing_functions_need_as_many_amplitudes_as_frequencies():
    with pytest.raises(sj.UserError, match="got 2 amplitudes, 1 frequencies"):
        Loop({"aqm": "pi"}, Plant.of(20, 1250.0, 0.1)).describing(np.ones(2), np.ones(1))


def test_an_unknown_name_is_answered_with_the_nearest_ones():
    names = [f"links.{link}.{path}" for link in ("up", "down") for path in ("utilization", "queue.mean", "queue.sd")]
    names += [f"groups.{n}.goodput_bps" for n in range(20)]
    said = str(sj.UserError.unknown("--plot", "links.up.queue.men", names))
    assert said.startswith("--plot: expected one of 26 names, such as links.up.queue.mean, ")
    assert said.endswith(', got "links.up.queue.men"; did you mean "links.up.queue.mean"?')
    assert "links.up.queue.mean, links.down.queue.mean" in str(sj.UserError.unknown("--plot", "Queue.mean", names))
    assert str(sj.UserError.unknown("x", "b", ["a", "c"])) == 'x: expected one of a, c, got "b"'


@pytest.mark.parametrize(
    "command",
    [
        ["run", "FILE", "--pcap", "."],
        ["run", "FILE", "--qlog", "."],
        ["run", "FILE", "--flent", "."],
        ["import", "FILE", "--out", "."],
        ["trace", "make", "."],
    ],
)
def test_a_folder_where_a_file_is_meant_is_refused_before_anything_is_read(capsys, here, command):
    assert main(command) == 2  # there is no FILE
    assert capsys.readouterr().err.endswith('".": expected a file, got a folder\n')


def test_check_takes_the_changes_that_a_run_takes(capsys, dumbbell):
    assert main(["check", str(dumbbell), "--set", "flows.ftp.count=3"]) == 0
    assert capsys.readouterr().out.endswith("with flows.ftp.count=3: can be run\n")
    assert main(["check", str(dumbbell), "--set", "flows.ftp.count=-1"]) == 2
    assert "flows.ftp.count: expected" in capsys.readouterr().err


@pytest.mark.parametrize("command", [("run",), ("compare", "--queues", "red"), ("compare", "--cc", "reno"), ("check",)])
def test_every_command_says_in_which_line_and_column_a_field_is_wrong(capsys, dumbbell, command):
    dumbbell.write_text(dumbbell.read_text().replace('rate = "10 Mbit/s"', "rate = 10"))
    assert main([command[0], str(dumbbell), *command[1:]]) == 2
    assert capsys.readouterr().err.startswith(f"error: {dumbbell}:10:8: links.bottleneck.rate: expected a rate")


@pytest.mark.parametrize("change", ["links=3", "flows=3", "flows=[1]", "tcp.control=3", "links.bottleneck.queue=3"])
def test_a_comparison_refuses_what_has_no_form_of_a_scenario(capsys, dumbbell, change):
    assert main(["compare", str(dumbbell), "--cc", "reno", "--set", change]) == 2
    assert ": expected a " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("compare", "--queues", "red("),
            '--queues: expected names and commas such as droptail,red(min=5,max=15), got "red("',
        ),
        (("compare", "--cc", "reno,reno"), '--cc "reno,reno": expected each once, got "reno" twice'),
        (("compare", "--cc", "reno", "--group", "x"), '--group: expected one of ftp, got "x"'),
        (
            ("compare", "--queues", "red", "--link", "x"),
            'FILE: --link: expected one of bottleneck, bottleneck:back, got "x"',
        ),
        (("analyze", "--link", "x"), 'FILE: --link: expected one of bottleneck, bottleneck:back, got "x"'),
        (
            ("compare", "--vary", "flows.ftp.count=1,1"),
            '--vary flows.ftp.count: expected each value once, got "1" twice',
        ),
        (("run", "--seeds", "10000000"), "--seeds: expected a count of 1 to 1000000, or a list of seeds, got 10000000"),
        (("run", "--host", "x"), 'FILE with host=x: host: expected one of simulator, linux, live, got "x"'),
    ],
)
def test_an_option_has_its_dashes_in_every_message(capsys, dumbbell, arguments, said):
    assert main([arguments[0], str(dumbbell), *arguments[1:]]) == 2
    assert capsys.readouterr().err == f"error: {said.replace('FILE', str(dumbbell))}\n"


def test_where_each_group_has_its_own_controller_the_option_is_group(capsys, dumbbell):
    own = ("--set", 'flows.ftp.tcp.control={cc="reno"}')
    assert main(["compare", str(dumbbell), "--cc", "cubic", *own]) == 2
    assert capsys.readouterr().err.startswith(
        "error: --group: expected the group that gets the controllers, one of ftp"
    )


def test_a_fault_that_only_the_whole_shows_names_all_changes(capsys, dumbbell):
    assert main(["run", str(dumbbell), "--set", "tcp.control.cc=prague", "--set", "tcp.ecn=false"]) == 2
    said = f"error: {dumbbell} with tcp.control.cc=prague, tcp.ecn=false: tcp.ecn: expected "
    assert capsys.readouterr().err.startswith(said)


def test_a_refused_run_leaves_no_folder_for_its_capture(dumbbell, here):
    before = sorted(here.iterdir())
    law = 'links.bottleneck.queue={aqm="external",law="mine"}'
    assert main(["run", str(dumbbell), "--set", law, "--pcap", "out/deep/run.pcapng"]) == 2
    assert sorted(here.iterdir()) == before
    assert main(["run", str(dumbbell), "--pcap", "out/deep/run.pcapng"]) == 0
    assert (here / "out" / "deep" / "run.pcapng").exists()


def test_a_scenario_without_flows_says_so(capsys, here):
    link = 'links = [{ name = "up", from = "a", to = "b", rate = "1 Mbit/s" }]'
    (here / "idle.toml").write_text(f'duration = "1 s"\n{link}\n')
    assert main(["run", "idle.toml"]) == 0
    assert capsys.readouterr().out.endswith("no flows: nothing is sent before the scenario has a table [[flows]]\n")


LATE = """
name = "late"
duration = "5 s"

[[links]]
name = "up"
from = "A"
to = "B"
rate = "1 Mbit/s"
delay = "1 ms"
duplex = true
changes = [{ at = "1 s", rate = "2 Mbit/s" }, { at = "9 s", rate = "1 Mbit/s" }]
impairments = [{ kind = "loss", probability = 0.01 }, { kind = "outage", at = "7 s", length = "1 s" }]

[[flows]]
name = "ftp"
count = 2
from = "A"
to = "B"
start = START
traffic = { kind = "bulk" }
reroute = [{ at = "5 s", via = ["A", "B"] }]
"""


@pytest.mark.parametrize(
    ("start", "late"),
    [
        ('"1 s"', None),
        ('"6 s"', "6 s"),
        ('["10 s", "8 s"]', "8 s"),
        ('["8 s", "1 s"]', None),
        ('{ uniform = ["6 s", "7 s"] }', "6 s"),
        ('{ spread = ["4 s", "7 s"] }', None),
        ('{ step = "1 s", first = "9 s" }', "9 s"),
        ('{ step = "9 s" }', None),
        ('{ lognormal = { median = "9 s", sigma = 0.4 } }', None),
    ],
)
def test_what_is_due_after_the_end_is_named_and_not_refused(capsys, here, start, late):
    (here / "late.toml").write_text(LATE.replace("START", start))
    links = {"links.up.changes[1].at": "9 s", "links.up.impairments[1].at": "7 s"}
    flows = ({"flows.ftp.start": late} if late else {}) | {"flows.ftp.reroute[0].at": "5 s"}
    said = [
        f"note: {at}: {time} is not before the end of the run (5 s): it never happens"
        for at, time in (links | flows).items()
    ]
    for command in ("check", "run"):
        assert main([command, "late.toml"]) == 0
        assert capsys.readouterr().err.splitlines() == said
    (here / "late.toml").write_text(LATE.replace("START", start).replace('name = "up"\n', ""))
    assert main(["check", "late.toml"]) == 0
    assert capsys.readouterr().err.splitlines() == [note.replace("links.up", "links.A->B") for note in said]


@pytest.mark.parametrize(
    "command", [["run", "x.toml", "--pcap"], ["run", "x.toml", "--qlog"], ["import", "x.toml", "--out"]]
)
def test_a_file_is_not_written_over_by_what_is_made_of_it(capsys, here, command):
    (here / "x.toml").write_text("what the user wrote")
    assert main([*command, "./x.toml"]) == 2
    assert capsys.readouterr().err.endswith('"x.toml": expected another file than the one that is read\n')
    assert (here / "x.toml").read_text() == "what the user wrote"
