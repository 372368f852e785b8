"""What it saves to compose each distinct phrase once, on each of the five sets.

    ADASENT_DATA=mirror python benchmarks/phrases.py [--repeats 5] [--hidden-size 300 --sets TREC]
    python benchmarks/phrases.py --write    # only the tables of docs/runtime.md, from the CSV

Rows of other sets and sizes that are in the CSV stay.

Cells are counted and time is taken on a random network: neither depends on the weights. Plain runs,
runs with an empty cache and runs over the same texts again alternate in one process, on one thread,
each over a whole set. Times are processor time, so that a busy machine disturbs them less.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[0] = str(ROOT)

from adasent.data import load  # noqa: E402
from adasent.runtime.network import Network  # noqa: E402
from adasent.runtime.phrases import PhraseCache  # noqa: E402
from adasent.runtime.threads import blas_threads  # noqa: E402
from adasent.saving.adasent import tensor_shapes  # noqa: E402
from adasent.saving.word_table import WordTable  # noqa: E402
from adasent.systems.config import AdaSentConfig  # noqa: E402
from adasent.text.batch import n_cells  # noqa: E402
from adasent.text.encoder import tokenise  # noqa: E402
from adasent.text.tokenize import words  # noqa: E402
from adasent.text.vocabulary import Vocabulary  # noqa: E402
from benchmarks.pages import markdown, put_between_marks  # noqa: E402

CSV = ROOT / "benchmarks" / "results" / "phrases.csv"
PAGE = ROOT / "docs" / "runtime.md"
SETS = ("MR", "CR", "SUBJ", "MPQA", "TREC")
CAPACITY = 500_000
LENGTHS = (2, 3, 4)  # of the phrases that the cache shares

Row = dict[str, Any]


def random_network(n_words: int, hidden_size: int) -> Network:
    """A network of the default kind with small random weights."""
    config = AdaSentConfig(n_trained=n_words, n_classes=2, vector_size=50, hidden_size=hidden_size)
    rng = np.random.default_rng(0)
    tensors = {
        name: rng.normal(scale=0.1, size=shape).astype(np.float32)
        for name, shape in tensor_shapes(config).items()
    }
    table = WordTable.wide(tensors.pop("embedding.trained"), tensors.pop("embedding.fixed"))
    return Network(config, table, tensors)


def timed(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def count_phrases(texts: list[np.ndarray]) -> dict[int, tuple[int, int]]:
    """Length of a phrase -> how many there are in all texts, and how many distinct ones."""
    lengths = np.array([len(ids) for ids in texts])
    names = np.concatenate(texts)  # of the phrase that starts at each word
    room = np.concatenate([np.arange(n, 0, -1) for n in lengths])  # words to the end of the text
    found = {}
    for n in range(2, int(lengths.max()) + 1):
        # A phrase is its first n - 1 words and its last n - 1: two phrases that have names by now.
        pairs = names[:-1] * (int(names.max()) + 1) + names[1:]
        starts = np.flatnonzero(room >= n)
        distinct, own = np.unique(pairs[starts], return_inverse=True)
        names = np.zeros_like(names)
        names[starts] = own
        found[n] = len(starts), len(distinct)
    return found


def measure(name: str, hidden_size: int, repeats: int) -> dict[str, object]:
    """One row: cells that sharing saves, and the time with it over the time without."""
    tokens = tokenise(load(name).texts, words, 2000)
    vocabulary = Vocabulary.build(tokens)
    texts = [vocabulary.encode(row) for row in tokens]
    network = random_network(len(vocabulary), hidden_size)
    network.probabilities(texts)  # compiled code and memory are ready
    plain, sharing, again = [], [], []
    for _ in range(repeats):
        cache = PhraseCache(CAPACITY, network.composition, len(vocabulary))
        plain.append(timed(partial(network.probabilities, texts)))
        sharing.append(timed(partial(network.probabilities, texts, cache)))
        saved = cache.n_asked - cache.n_composed
        again.append(timed(partial(network.probabilities, texts, cache)))
    lengths = np.array([len(ids) for ids in texts])
    composed = int((n_cells(lengths) - lengths).sum())  # the first level is not composed
    phrases = count_phrases(texts)
    repeated = {n: 1 - distinct / total for n, (total, distinct) in phrases.items()}
    longer = sum(total for n, (total, _) in phrases.items() if n > max(LENGTHS))
    ever = sum(total - distinct for total, distinct in phrases.values())
    return {
        "set": name,
        "texts": len(texts),
        "hidden_size": hidden_size,
        "cells": composed,
        "of_short_phrases": cache.n_asked // 2,  # two passes
        "share_saved": round(saved / composed, 4),
        "time_ratio": round(float(np.median(np.divide(sharing, plain))), 3),
        "time_ratio_again": round(float(np.median(np.divide(again, plain))), 3),
        "plain_sentences_per_s": round(len(texts) / float(np.median(plain))),
        "share_at_any_length": round(ever / composed, 4),
        **{f"repeated_{n}": round(repeated[n], 4) for n in LENGTHS},
        "share_of_longer": round(longer / composed, 4),
        "repeats": repeats,
        "numba": "numba" in sys.modules,
    }


def saved(rows: list[Row]) -> str:
    """Cells and time that sharing saves, as a table."""
    body = [
        [
            row["set"],
            row["hidden_size"],
            _percent(row["share_saved"]),
            _percent(row["share_at_any_length"]),
            f"x {float(row['time_ratio']):.2f}",
            f"x {float(row['time_ratio_again']):.2f}",
        ]
        for row in rows
    ]
    cells = ["cells saved", "at any length"]
    return markdown(["set", "D", *cells, "time, empty cache", "time, same texts again"], body)


def repeats(rows: list[Row]) -> str:
    """How often phrases come again, as a table."""
    by_set = {row["set"]: row for row in rows}
    columns = [*(f"repeated_{n}" for n in LENGTHS), "share_of_longer"]
    body = [[name, *(_percent(row[key]) for key in columns)] for name, row in by_set.items()]
    header = [f"{n} words" for n in LENGTHS]
    return markdown(["set", *header, f"cells of more than {max(LENGTHS)} words"], body)


def _percent(share: str) -> str:
    return f"{100 * float(share):.1f} %"


def read(path: Path) -> list[Row]:
    """Rows of the CSV, by size and in the order of the sets."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return sorted(rows, key=lambda row: (int(row["hidden_size"]), SETS.index(row["set"])))


def write(path: Path, rows: list[Row]) -> None:
    """Put rows into the CSV in place of those of the same set and size."""
    renewed = {(str(row["set"]), str(row["hidden_size"])) for row in rows}
    kept = [row for row in read(path) if (row["set"], row["hidden_size"]) not in renewed]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows([*kept, *rows])


def fill(page: str, rows: list[Row]) -> str:
    """Replace both tables of the page."""
    for name, make in (("phrases", saved), ("repeats", repeats)):
        page = put_between_marks(page, name, "phrases.py", make(rows))
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--hidden-size", type=int, default=100)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS, metavar="NAME")
    parser.add_argument("--out", type=Path, default=CSV)
    parser.add_argument("--write", action="store_true", help="measure nothing, fill the page")
    options = parser.parse_args()
    if options.write:
        PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read(CSV)), encoding="utf-8")
        return
    if find_spec("numba"):
        import numba  # noqa: F401  the runtime uses it once it is there
    for name in options.sets:
        with blas_threads(1):
            row = measure(name, options.hidden_size, options.repeats)
        print("  ".join(f"{key}={value}" for key, value in row.items()), flush=True)
        write(options.out, [row])


if __name__ == "__main__":
    main()
