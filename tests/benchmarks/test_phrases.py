"""Phrases are counted as they would be by hand, and the tables of the page come from the CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.phrases import CSV, PAGE, count_phrases, fill, read, write

ROW = {
    "set": "TREC",
    "hidden_size": "100",
    "share_saved": "0.12",
    "share_at_any_length": "0.136",
    "time_ratio": "1.9",
    "time_ratio_again": "0.88",
    "repeated_2": "0.45",
    "repeated_3": "0.2",
    "repeated_4": "0.1",
    "share_of_longer": "0.56",
}


def test_phrases_are_counted() -> None:
    texts = [np.array(ids) for ids in ([1, 2, 3], [2, 3], [9], [1, 2, 3, 1, 2])]
    # 12 23 | 23 | 12 23 31 12: three distinct; 123 | 123 231 312; 1231 2312; 12312.
    assert count_phrases(texts) == {2: (7, 3), 3: (4, 3), 4: (2, 2), 5: (1, 1)}


def test_rows_of_other_sets_and_sizes_stay(tmp_path: Path) -> None:
    path = tmp_path / "phrases.csv"
    write(path, [ROW])
    write(path, [ROW | {"hidden_size": "300"}])
    write(path, [ROW | {"set": "MR"}])
    write(path, [ROW | {"time_ratio": "2.5"}])
    found = [(row["set"], row["hidden_size"], row["time_ratio"]) for row in read(path)]
    assert found == [("MR", "100", "1.9"), ("TREC", "100", "2.5"), ("TREC", "300", "1.9")]


def test_tables() -> None:
    page = fill(PAGE.read_text(encoding="utf-8"), [ROW])
    assert "| TREC | 100 | 12.0 % | 13.6 % | x 1.90 | x 0.88 |" in page
    assert "| TREC | 45.0 % | 20.0 % | 10.0 % | 56.0 % |" in page


def test_the_committed_page_holds_the_committed_rows() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert fill(page, read(CSV)) == page
