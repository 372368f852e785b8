r"""Accuracy of the default settings, from the committed records to the table in the README.

The records come from the product's own command, with ADASENT_DATA naming the mirror:

    adasent crossval TREC --seeds 0-4 --vectors wiki-imdb-200d \
        --out results/defaults/TREC-200d.jsonl
    adasent crossval TREC --seeds 0-4 --vectors wiki-50d --out results/defaults/TREC-50d.jsonl
    adasent crossval CR --folds 10 --vectors wiki-imdb-200d --out results/defaults/CR-200d.jsonl
    adasent crossval CR --folds 10 --vectors wiki-50d --out results/defaults/CR-50d.jsonl

    python benchmarks/defaults.py           # print the table
    python benchmarks/defaults.py --write   # put it into the README
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from adasent.evaluation.records import FoldRecord, read_records
from adasent.evaluation.summary import summarise

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- defaults: made by benchmarks/defaults.py -->", "<!-- end of defaults -->"


def row(records: list[FoldRecord]) -> str:
    """One line of the table: the folds or seeds of one set with one choice of vectors."""
    first = records[0]
    vectors = " + ".join(source["name"] for source in first.spec["vectors"])
    split = "official split" if first.rule == "official" else f"{first.n_folds} {first.rule} folds"
    runs = f"{split}, {len(records)} runs"
    accuracy = summarise([100 * record.accuracy for record in records])
    epochs = statistics.median(len(record.history) for record in records)
    return (
        f"| {first.data} | {vectors} | {runs} | {accuracy.mean:.2f} ± {accuracy.sd:.2f} "
        f"| {accuracy.low:.1f} to {accuracy.high:.1f} | {epochs:.0f} |"
    )


def table(folder: Path = ROOT / "results" / "defaults") -> str:
    """The Markdown table of all records in the folder."""
    lines = [
        "| set | vectors | test | accuracy, mean ± sd | 95 % interval | epochs |",
        "|---|---|---|---|---|---|",
    ]
    for path in sorted(folder.glob("*.jsonl"), key=lambda path: path.name, reverse=True):
        records = read_records(path)
        if len(records) >= records[0].n_folds:  # a cross-validation under way has no mean yet
            lines.append(row(records))
    return "\n".join(lines)


def write(readme: Path = ROOT / "README.md") -> None:
    """Replace what stands between the two marks."""
    text = readme.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    readme.write_text(f"{head}{BEGIN}\n{table()}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        print(table())
