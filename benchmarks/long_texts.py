"""Whole film reviews, and time against length, with a bounded height -> tables of docs/training.md.

    python benchmarks/long_texts.py             # measure all, some 40 minutes on one core
    python benchmarks/long_texts.py length      # time and memory against length alone
    python benchmarks/long_texts.py --quick     # small sizes, few repeats: does it run?
    python benchmarks/long_texts.py --tables    # fill the page from the CSV

Reviews of 200 to 2,000 words of IMDB, polarity. Word vectors are those of Wikipedia: they have seen
none of them. Seconds of trainings are processor time of a process of its own, on one thread.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[0] = str(ROOT)

from adasent.data import load  # noqa: E402
from adasent.estimators.predictor import Predictor  # noqa: E402
from adasent.runtime.network import Network  # noqa: E402
from adasent.saving.word_table import WordTable  # noqa: E402
from adasent.text.batch import length_buckets, n_cells  # noqa: E402
from adasent.text.encoder import TextEncoder  # noqa: E402
from adasent.text.tokenize import words as tokenise  # noqa: E402
from adasent.text.vocabulary import Vocabulary  # noqa: E402
from benchmarks.memory import peak_mb, rise  # noqa: E402
from benchmarks.pages import markdown, put_between_marks  # noqa: E402
from benchmarks.records import Result, Row, Shape, environment, read_rows, row, write_rows  # noqa: E402
from benchmarks.tables import number, origin, spread  # noqa: E402
from benchmarks.timing import exponent, take_turns  # noqa: E402
from benchmarks.training import BATCH, HIDDEN, N_WORDS, Trainer  # noqa: E402
from benchmarks.workloads import Split, network  # noqa: E402

CSV = ROOT / "benchmarks" / "results" / "long_texts.csv"
PAGE = ROOT / "docs" / "training.md"
SHORTEST, LONGEST = 200, 2000  # words of a review
LONG_BATCH = 10  # reviews are few and long: more, smaller steps
WANTED = 1.1  # exponent of time in length, at most
ABOVE = 4  # lengths from so many heights on count for it: T x height less a half height squared
WORK = ("training step", "prediction", "explanation", "explanation as JSON")


class Sizes(NamedTuple):
    """How much is measured."""

    n_train: int = 1500
    n_test: int = 2000
    epochs: int = 10
    heights: tuple[int, ...] = (1, 5, 8, 12, 20)
    cuts: tuple[int, ...] = (100, 200, 400)  # of texts that are read with a height of 8
    lengths: tuple[int, ...] = (50, 100, 200, 400, 800, 1600)
    fixed: tuple[int, ...] = (8, 20)  # heights of time against length
    n_words: int = 12_800  # that each length is measured on
    repeats: int = 7


QUICK = Sizes(60, 40, 1, (1, 8), (100,), (50, 100, 200), (8,), 800, 2)


# -- trainings ---------------------------------------------------------------------------------


def reviews(sizes: Sizes) -> Split:
    """Texts of the length in question, no two equal, as many of either class by chance."""
    corpus = load("IMDB")
    known = dict(zip(corpus.texts, corpus.labels, strict=True))
    pairs = [(text, str(label)) for text, label in known.items()]
    chosen: list[tuple[str, str]] = []
    for i in np.random.default_rng(0).permutation(len(pairs)).tolist():
        if SHORTEST <= len(tokenise(pairs[i][0])) <= LONGEST:
            chosen.append(pairs[i])
        if len(chosen) == sizes.n_train + sizes.n_test:
            break
    texts, labels = map(list, zip(*chosen, strict=True))
    n = sizes.n_train
    return Split(texts[:n], labels[:n], texts[n:], labels[n:])


def train_one(settings: dict[str, Any], sizes: Sizes) -> dict[str, float]:
    """Accuracy, seconds and memory of one training; in this process."""
    from adasent.estimators.registry import make

    data = reviews(sizes)
    system = settings.pop("system", "adasent")
    if system == "adasent":
        fixed = {"vectors": "wiki-50d", "extra_words": 0, "epochs": sizes.epochs}
        settings = fixed | {"batch_size": LONG_BATCH, "pooling": "mean"} | settings
    warnings.simplefilter("ignore")  # of texts that are cut
    clf = make(system, **settings)
    make(system, **settings | ({"epochs": 1} if system == "adasent" else {})).fit(
        data.train_texts[:60], data.train_labels[:60]
    ).predict(data.test_texts[:2])  # compiles
    spent = []

    def fit() -> None:
        start = time.process_time()
        clf.fit(data.train_texts, data.train_labels)
        spent.append(time.process_time() - start)

    megabytes = rise(fit)
    start = time.process_time()
    found = clf.predict(data.test_texts)
    predicting = time.process_time() - start
    return {
        "accuracy %": 100 * float(np.mean(found == np.array(data.test_labels))),
        "training, s": spent[0],
        "texts/s": len(found) / predicting,
        "MB": megabytes,
    }


def trainings(sizes: Sizes, quick: bool) -> Iterator[Result]:
    """Each setting in a process of its own, so that its peak of memory is its own."""
    given: dict[str, dict[str, Any]] = {"NB-SVM": {"system": "nbsvm"}}
    for height in sizes.heights:
        given[f"height {height}"] = {"max_height": height, "max_words": LONGEST}
    for cut in sizes.cuts:
        given[f"height 8, {cut} words read"] = {"max_height": 8, "max_words": cut}
    given["height 8, pooled by maximum"] = given["height 8"] | {"pooling": "max"}
    given["no height, 100 words read"] = {"max_words": 100}
    for name, settings in given.items():
        command = [sys.executable, __file__, "--one", json.dumps(settings), *["--quick"] * quick]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"training {name} failed:\n{done.stderr}")
        shape = Shape(LONG_BATCH, settings.get("max_words", LONGEST), HIDDEN, "IMDB")
        for unit, value in json.loads(done.stdout.splitlines()[-1]).items():
            yield Result(name, unit, [value], shape)


# -- time against length -----------------------------------------------------------------------


class Texts:
    """As many texts of T random words as ``n_words`` allow, and a random network to read them."""

    def __init__(self, longest: int, height: int, n_words: int) -> None:
        self.longest, self.height = longest, height
        self.n_texts = max(1, n_words // longest)
        rng = np.random.default_rng(longest)
        names = [f"w{i}" for i in range(N_WORDS - 2)]
        self.texts = [" ".join(rng.choice(names, longest)) for _ in range(self.n_texts)]
        model = network(HIDDEN, n_words=N_WORDS, height=height)
        tensors = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
        table = WordTable.wide(tensors.pop("embedding.trained"), tensors.pop("embedding.fixed"))
        encoder = TextEncoder(tokenise, Vocabulary(names, n_training=N_WORDS), LONGEST)
        self.predictor = Predictor(
            Network(model.config, table, tensors), encoder, np.array(["no", "yes"])
        )
        self.trainer = Trainer("adasent", height)

    def run(self, what: str) -> None:
        """Do one kind of work on all texts."""
        if what == "training step":
            lengths = np.full(self.n_texts, self.longest)
            batches = length_buckets(lengths, BATCH, height=self.height)
            self.trainer.run([lengths[batch] for batch in batches])
        elif what == "prediction":
            self.predictor.predict_proba(self.texts)
        else:
            for one in self.predictor.explain(self.texts[: self.count(what)]):
                one.to_json() if what.endswith("JSON") else one.phrases[:5]

    def count(self, what: str) -> int:
        """Texts that are worked on; JSON takes its time."""
        return max(1, self.n_texts // 8) if what.endswith("JSON") else self.n_texts


def against_length(sizes: Sizes) -> Iterator[Result]:
    """Seconds a text at fixed heights, the exponent of time in length; memory of a step."""
    import adasent.runtime.compiled  # noqa: F401  # a long text would start numba in the middle

    for height in sizes.fixed:
        of_length = {n: Texts(n, height, sizes.n_words) for n in sizes.lengths}
        for what in WORK:
            # Every length reads as many words, and they take turns: noise hits them alike.
            contenders = {
                str(n): lambda given=given, what=what: given.run(what)
                for n, given in of_length.items()
            }
            gc.disable()  # as timeit does
            seconds = take_turns(contenders, sizes.repeats)
            gc.enable()
            name = f"{what}, height {height}"
            for n, given in of_length.items():
                each = seconds[str(n)] / given.count(what)
                seconds[str(n)] = each
                cells = int(n_cells(np.array([n]), height)[0])
                yield Result(name, "s", each, Shape(None, n, HIDDEN, "equal", cells))
            above = [n for n in sizes.lengths if n >= ABOVE * height]
            slopes = [
                exponent([float(n) for n in above], [float(seconds[str(n)][i]) for n in above])
                for i in range(sizes.repeats)
            ]
            yield Result(name, "exponent", slopes, Shape(hidden=HIDDEN, lengths="equal"))
        for n in sizes.lengths[-3:]:
            peak = peak_mb("training", provider="adasent", batches=[[n] * 8], height=height)
            name = f"training step of 8 texts, height {height}"
            yield Result(name, "MB", [peak], Shape(8, n, HIDDEN, "equal"))


# -- tables ------------------------------------------------------------------------------------


def reviews_table(rows: Sequence[Row]) -> str:
    """One line a training."""
    own = [row for row in rows if row.name == "reviews"]
    units = ("accuracy %", "training, s", "texts/s", "MB")
    found = {(row.provider, row.unit): row for row in own}
    names = dict.fromkeys(row.provider for row in own)
    body = [[name, *(number(found[name, unit].median) for unit in units)] for name in names]
    return markdown(["", "accuracy, %", "training, s", "texts/s read", "MB to train"], body)


def length_table(rows: Sequence[Row]) -> str:
    """One line a kind of work, one column a length, in milliseconds a text; the exponent."""
    own = [row for row in rows if row.name == "length"]
    lengths = sorted({row.longest for row in own if row.unit == "s" and row.longest})
    found = {(row.provider, row.unit, row.longest): row for row in own}
    body = []
    for name in dict.fromkeys(one.provider for one in own if one.unit == "s"):
        slope = found[name, "exponent", None]
        times = [number(1e3 * found[name, "s", n].median) for n in lengths]
        met = "yes" if slope.median <= WANTED else "no"
        body.append([f"{name}, ms", *times, spread(slope), met])
    for name in dict.fromkeys(one.provider for one in own if one.unit == "MB"):
        peaks = [found.get((name, "MB", n)) for n in lengths]
        body.append([f"{name}, MB", *(number(p.median) if p else "" for p in peaks), "", ""])
    heads = [f"{n} words" for n in lengths]
    return markdown(["", *heads, "exponent", f"at most {WANTED}"], body)


def fill(page: str, rows: list[Row]) -> str:
    """The page with all tables in it."""
    tables = {
        "long-reviews": reviews_table(rows),
        "long-length": length_table(rows),
        "long-origin": origin(rows),
    }
    for name, table in tables.items():
        page = put_between_marks(page, name, Path(__file__).name, table)
    return page


def main() -> None:
    """Measure, write the CSV, fill the page."""
    parser = argparse.ArgumentParser(description="Measure long texts.")
    parser.add_argument("part", nargs="?", choices=["reviews", "length"])
    parser.add_argument("--quick", action="store_true", help="small sizes; leaves the page alone")
    parser.add_argument("--out", type=Path, default=CSV)
    parser.add_argument("--tables", action="store_true", help="only fill the page")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = QUICK if options.quick else Sizes()
    if options.one:
        print(json.dumps(train_one(json.loads(options.one), sizes)))
        return
    parts = [] if options.tables else [options.part] if options.part else ["length", "reviews"]
    for part in parts:
        found = against_length(sizes) if part == "length" else trainings(sizes, options.quick)
        rows, where = [], environment(1)
        for result in found:
            rows.append(row(part, result, where))
            last = rows[-1]
            print(
                f"{part}: {last.provider}, {last.longest}: {last.median:g} {last.unit}", flush=True
            )
            write_rows(options.out, rows)
    if not options.quick:
        page = fill(PAGE.read_text(encoding="utf-8"), read_rows(options.out))
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
