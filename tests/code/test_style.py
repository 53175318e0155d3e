"""House style that can be counted: see STYLE.md, "Shape"."""

from functools import cache

from tests.support.source_tree import Function, python_functions, rust_functions, sources, text

FUNCTION_LINES = 70
FILE_LINES = 500
PARAMETERS = 5


@cache
def functions() -> list[Function]:
    in_rust = [each for path in sources(".rs") for each in rust_functions(path)]
    in_python = [each for path in sources(".py") for each in python_functions(path)]
    return in_rust + in_python


def test_the_parser_sees_what_is_there() -> None:
    found = {(each.path.name, each.name): each for each in functions()}
    here = found["test_style.py", "functions"]
    assert (here.line, here.length, here.parameters) == (13, 4, 0)
    assert len(found) > 1500


def test_no_function_is_longer_than_seventy_lines() -> None:
    long = [
        f"{each.path}:{each.line}: {each.name} has {each.length} lines"
        for each in functions()
        if each.length > FUNCTION_LINES
    ]
    assert not long, "\n".join(long)


def test_no_file_is_longer_than_five_hundred_lines() -> None:
    long = [
        f"{path} has {lines} lines"
        for path in [*sources(".rs"), *sources(".py")]
        if (lines := len(text(path).splitlines())) > FILE_LINES
    ]
    assert not long, "\n".join(long)


def test_no_function_takes_more_than_five_parameters() -> None:
    many = [
        f"{each.path}:{each.line}: {each.name} takes {each.parameters}"
        for each in functions()
        if each.parameters > PARAMETERS and not each.exempt
    ]
    assert not many, "\n".join(many)
