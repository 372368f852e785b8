"""What it saves to compose each distinct phrase once, on each of the five sets.

    ADASENT_DATA=mirror python benchmarks/phrases.py [--repeats 5] [--out FILE.csv]

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

import numpy as np

from adasent.compact import WordTable
from adasent.data import load
from adasent.persistence import tensor_shapes
from adasent.runtime.network import Network
from adasent.runtime.phrases import PhraseCache
from adasent.runtime.threads import blas_threads
from adasent.systems.config import AdaSentConfig
from adasent.text.batch import n_cells
from adasent.text.encoder import tokenise
from adasent.text.tokenize import words
from adasent.text.vocabulary import Vocabulary

SETS = ("MR", "CR", "SUBJ", "MPQA", "TREC")
CAPACITY = 500_000


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
        "repeats": repeats,
        "numba": "numba" in sys.modules,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--hidden-size", type=int, default=100)
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/phrases.csv"))
    options = parser.parse_args()
    if find_spec("numba"):
        import numba  # noqa: F401  the runtime uses it once it is there
    rows = []
    for name in options.sets:
        with blas_threads(1):
            rows.append(measure(name, options.hidden_size, options.repeats))
        print("  ".join(f"{key}={value}" for key, value in rows[-1].items()), flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
