"""The table of the page in one file says what its rows say, and the docs have it."""

from __future__ import annotations

from benchmarks.page_time import CSV, PAGE, WORK, table
from benchmarks.records import Result, Row, Shape, environment, read_rows, row


def made_up() -> list[Row]:
    where = environment(threads=1)
    results = []
    for kind in WORK.values():
        for n in (25, 5):
            shape = Shape(1, n, 100, "equal")
            results += [
                Result(f"{kind}, page", "ms", [10.0 * n], shape),
                Result(f"{kind}, python", "ms", [float(n)], shape),
                Result(f"{kind}, page", "ratio", [10.0], shape, "python"),
            ]
    return [row("page", one, where) for one in results]


def test_a_line_for_each_work_and_length() -> None:
    lines = table(made_up()).splitlines()
    assert lines[0].startswith("Measured on ")
    assert lines[4:] == [
        "| explanation | 5 | 50 | 5 | 10 |",
        "| explanation | 25 | 250 | 25 | 10 |",
        "| prediction | 5 | 50 | 5 | 10 |",
        "| prediction | 25 | 250 | 25 | 10 |",
    ]


def test_the_docs_have_the_table_of_the_rows() -> None:
    page = PAGE.read_text("utf-8")
    begin = "<!-- page-time: made by benchmarks/page_time.py -->\n"
    held = page.split(begin)[1].split("\n<!-- end of page-time -->")[0]
    assert held == table(read_rows(CSV))
