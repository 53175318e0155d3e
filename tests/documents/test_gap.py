"""docs/gap.md has the table of the stored results."""

from conformance.gap import CONTROLLERS, HOSTS, PAGE, QUEUES, written


def test_the_page_has_the_table_of_the_stored_results() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page
    assert page.count("\n| cubic ") + page.count("\n| bbr ") == len(CONTROLLERS) * len(QUEUES) * len(HOSTS)
