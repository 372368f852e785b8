"""What the load script makes of what becomes of requests; docs/service.md shows its figures."""

from __future__ import annotations

import csv
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

serve_load = pytest.importorskip("benchmarks.serve_load", reason="not shipped here")
pages = pytest.importorskip("benchmarks.pages", reason="not shipped here")

PAGE = Path(__file__).parents[2] / "docs" / "service.md"


def test_a_row_counts_what_was_not_answered() -> None:
    outcomes = Counter({"200": 3, "503": 2, "connection closed": 1})
    row = serve_load.Tally(outcomes, [0.003, 0.001, 0.002]).row("a load", elapsed=2)
    assert (row["requests"], row["answered"]) == (6, 3)
    assert row["otherwise"] == "2 503, 1 connection closed"
    assert row["requests/s"] == pytest.approx(1.5)
    assert (row["median, ms"], row["99 % below, ms"]) == (pytest.approx(2), pytest.approx(2))
    nothing = serve_load.Tally().row("none", elapsed=1)
    assert (nothing["requests"], nothing["requests/s"], nothing["otherwise"]) == (0, 0, "none")


def test_loads_say_what_they_are() -> None:
    assert str(serve_load.Load()) == "200 clients, predictions, 30 s"
    killed = serve_load.Load(5, 4, "/v1/explain", stop_after=1.5, kill=True)
    assert str(killed) == "5 clients, explanations, 4 s, killed after 1.5 s"
    mixed = serve_load.Load(5, 4, long=2, half=3, workers=2)
    assert str(mixed) == (
        "5 clients, predictions, 4 s, 2 workers, and 2 that send texts of 180 to 2,000 words, "
        "beside 3 half requests"
    )


def test_each_kind_of_client_sends_its_own() -> None:
    sent = serve_load.requests(serve_load.Load())
    kinds = {name for _, _, name in serve_load.Load(bulk=1, long=1, explain=1).others()}
    assert sent.keys() == {"", *kinds}
    assert all(b"POST /v1/explain" in one for one in sent["with explanations"])
    assert min(map(len, sent["with long texts"])) > max(map(len, sent[""]))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
def test_memory_of_a_process() -> None:
    assert serve_load.memory(os.getpid()) > 1
    assert serve_load.memory(2**30) is None


def test_the_page_shows_the_figures() -> None:
    with serve_load.RESULTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(1 + len(load.others()) for load in serve_load.SHOWN)
    assert not any("lost" in row["otherwise"] for row in rows)
    assert rows[0]["otherwise"] == "none"
    page = PAGE.read_text(encoding="utf-8")
    assert pages.put_between_marks(page, "load", "serve_load.py", serve_load.shown(rows)) == page
