"""Tables say what the rows say, and the page has a place for each."""

from __future__ import annotations

import pytest

from benchmarks.records import Row, read_rows
from benchmarks.tables import PAGE, RESULTS, TABLES, Target, fill, number, origin, peers, targets


def test_targets_are_judged_by_the_measured_median(made_up: list[Row]) -> None:
    lines = targets(made_up).splitlines()[2:]
    judged = {line.split("|")[1].strip(): line.split("|")[4].strip() for line in lines}
    assert judged == {
        "prediction from strings, share of the same": "no",  # 0.705 of 0.75
        "prediction from strings over padded pyramid": "yes",  # 5.2 of 5
        "time in the sum of cells, exponent": "yes",  # 1.02
        "memory in T, exponent": "no",  # 1.3 of at most 1.1
    }


@pytest.mark.parametrize(
    ("low", "high", "bound", "inside", "outside"),
    [
        (0.9, 1.1, "0.9 to 1.1", 1.1, 1.11),
        (5, None, "at least 5", 5.0, 4.9),
        (None, 0.25, "at most 0.25", 0.25, 0.26),
    ],
)
def test_bounds(
    low: float | None, high: float | None, bound: str, inside: float, outside: float
) -> None:
    target = Target("", "", "", "", "", low, high)
    assert target.bound == bound
    assert target.met(inside)
    assert not target.met(outside)


def test_peers_stand_in_order_of_accuracy(made_up: list[Row]) -> None:
    lines = peers(made_up).splitlines()[2:]
    assert lines == ["| adasent | 78 | 4,000 | 0.5 | 5 |", "| fastText | 77.1 | 4,000 | 0.5 | 5 |"]


def test_numbers_have_three_digits_and_no_exponent() -> None:
    assert [number(value) for value in (12345.6, 1000.0, 999.4, 0.012345)] == [
        "12,300",
        "1,000",
        "999",
        "0.0123",
    ]


def test_one_machine_is_named_once(made_up: list[Row]) -> None:
    assert origin(made_up).count("a machine") == 1


def test_filling_the_page_changes_nothing_but_the_tables(made_up: list[Row]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    filled = fill(page, made_up)
    assert fill(filled, made_up) == filled
    assert "| fastText | 77.1 |" in filled
    for name, make in TABLES.items():
        assert f"{name}: made by benchmarks/tables.py -->\n{make(made_up)}\n<!-- end" in filled
    assert filled.startswith(page[: page.index("<!--")])


def test_a_page_without_a_mark_is_an_error(made_up: list[Row]) -> None:
    with pytest.raises(ValueError, match="put them back"):
        fill("# Speed", made_up)


def test_the_committed_page_holds_the_committed_rows() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert fill(page, read_rows(RESULTS / "cpu.csv")) == page
