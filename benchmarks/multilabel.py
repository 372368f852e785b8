"""Several labels a text: AdaSent beside one-vs-rest regression -> a table of docs/training.md.

    ADASENT_DATA=mirror python benchmarks/multilabel.py

The questions of TREC with the coarse and the fine label of each, 56 labels, on the official split:
a tenth of the training part, the same for both, chooses the epoch or the penalty, and the
thresholds, by the same rule. AdaSent has its default settings and the vectors ``wiki-imdb-200d``;
it is trained with three seeds. Of the test part, which is used once: micro and macro F1 (over the
classes that occur in it), and how many texts have exactly their labels. Intervals are of the middle
95 % of resamples of the test texts. Rows go to results/multilabel.csv; ``--table`` makes the table
of the rows that are there.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[0] = str(ROOT)

from adasent import AdaSentClassifier  # noqa: E402
from adasent.data import describe, fetch  # noqa: E402
from adasent.data.splits import held_out_several  # noqa: E402
from adasent.estimators.label_lists import indicator  # noqa: E402
from adasent.estimators.thresholds import best_threshold, fit_thresholds  # noqa: E402
from adasent.text.tokenize import get_tokenizer  # noqa: E402
from benchmarks.pages import markdown, put_between_marks  # noqa: E402
from benchmarks.records import commit  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "multilabel.csv"
PAGE = ROOT / "docs" / "training.md"
VECTORS = "wiki-imdb-200d"
SEEDS = (0, 1, 2)
PENALTIES = (1.0, 10.0, 100.0, 1000.0)
RESAMPLES = 1000
ADASENT, REGRESSION = "AdaSent", "one-vs-rest logistic regression, TF-IDF of words and pairs"


@dataclass(frozen=True)
class Row:
    """A line of the CSV: a figure of a model, in percent, of the mean over its seeds."""

    model: str
    thresholds: str
    measure: str
    value: float
    low: float
    high: float
    n_test: int
    n_classes: int
    seeds: int
    adasent: str  # commit
    date: str


class Part(NamedTuple):
    """Questions and which of the classes each has."""

    texts: list[str]
    there: np.ndarray


class Data(NamedTuple):
    """The three parts; the validation part is one of the training texts."""

    training: Part
    validation: Part
    test: Part
    classes: np.ndarray

    def lists(self, part: Part) -> list[list[str]]:
        """The labels of each text."""
        return [self.classes[row].tolist() for row in part.there]


def trec() -> Data:
    """TREC's official split, a tenth of its training part held out."""
    encoding = describe("TREC").encoding
    files = [path.read_bytes().decode(encoding).rstrip("\n") for path in fetch("TREC")]
    texts, labels = [], []
    for lines in (file.split("\n") for file in files):
        pairs = [line.split(" ", 1) for line in lines]
        texts.append([text for _, text in pairs])
        labels.append([[fine.split(":")[0], fine] for fine, _ in pairs])
    # Labels of test questions alone could not be learnt; there are none.
    classes = np.unique([label for pair in labels[0] for label in pair])
    there = [indicator(part, classes) for part in labels]
    kept, aside = held_out_several(there[0], 0.1, 0, texts[0])
    parts = [Part([texts[0][i] for i in rows], there[0][rows]) for rows in (kept, aside)]
    return Data(*parts, Part(texts[1], there[1]), classes)


class Tested(NamedTuple):
    """A model's probabilities of the test part, and its thresholds."""

    test: np.ndarray
    thresholds: np.ndarray


def adasent(data: Data, seed: int) -> Tested:
    """The default settings."""
    model = AdaSentClassifier(vectors=VECTORS, random_state=seed)
    held = data.validation.texts, data.lists(data.validation)
    model.fit(data.training.texts, data.lists(data.training), validation=held)
    assert model.thresholds_ is not None
    return Tested(model.predict_proba(data.test.texts), model.thresholds_)


def regression(data: Data) -> Tested:
    """scikit-learn's, its penalty by the micro F1 of the validation part, at its best threshold."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score
    from sklearn.multiclass import OneVsRestClassifier

    tokenizer = get_tokenizer("words")
    best, found = -1.0, None
    for penalty in PENALTIES:
        counts = TfidfVectorizer(
            tokenizer=tokenizer, token_pattern=None, lowercase=False, ngram_range=(1, 2)
        )
        rows = counts.fit_transform(data.training.texts)
        model = OneVsRestClassifier(LogisticRegression(C=penalty, max_iter=1000))
        model.fit(rows, data.training.there)
        held = model.predict_proba(counts.transform(data.validation.texts))
        threshold = best_threshold(held.ravel(), data.validation.there.ravel())
        f1 = f1_score(data.validation.there, held >= threshold, average="micro")
        print(f"penalty {penalty:g}: micro F1 of the validation part {f1:.4f}", flush=True)
        if f1 > best:
            test = model.predict_proba(counts.transform(data.test.texts))
            best, found = f1, Tested(test, fit_thresholds(held, data.validation.there))
    assert found is not None
    return found


def measures(there: np.ndarray, said: np.ndarray) -> np.ndarray:
    """(3,) micro F1, macro F1 over the classes that occur, share of texts that are all right."""
    hits, counted = 2 * (there & said).sum(axis=0), there.sum(axis=0) + said.sum(axis=0)
    occur = there.any(axis=0)
    return np.array(
        [
            hits.sum() / max(counted.sum(), 1),
            (hits[occur] / counted[occur]).mean(),
            (there == said).all(axis=1).mean(),
        ]
    )


MEASURES = ("micro F1", "macro F1", "all labels right")


def figures(there: np.ndarray, said: list[np.ndarray]) -> Iterator[tuple[float, float, float]]:
    """Each measure, mean over models, with its interval; the same resamples for every model."""
    rng = np.random.default_rng(0)
    whole = np.mean([measures(there, one) for one in said], axis=0)
    drawn = rng.integers(len(there), size=(RESAMPLES, len(there)))
    means = [np.mean([measures(there[i], one[i]) for one in said], axis=0) for i in drawn]
    low, high = np.quantile(means, (0.025, 0.975), axis=0)
    yield from zip(whole.tolist(), low.tolist(), high.tolist(), strict=True)


def differences(
    there: np.ndarray, a: list[np.ndarray], b: list[np.ndarray]
) -> Iterator[tuple[float, float, float]]:
    """Each measure of the models a less those of b, on the same resamples."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(there), size=(RESAMPLES, len(there)))

    def of(said: list[np.ndarray], rows: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.mean([measures(there[rows], one[rows]) for one in said], axis=0)
        return found

    whole = of(a, np.arange(len(there))) - of(b, np.arange(len(there)))
    low, high = np.quantile([of(a, i) - of(b, i) for i in drawn], (0.025, 0.975), axis=0)
    yield from zip(whole.tolist(), low.tolist(), high.tolist(), strict=True)


def run() -> list[Row]:
    """Train and test everything."""
    data, version = trec(), commit()  # of what is run, whatever is committed meanwhile
    models = {REGRESSION: [regression(data)]}
    models[ADASENT] = [adasent(data, seed) for seed in SEEDS]
    rows, said = [], {}
    there = data.test.there
    for name, tested in models.items():
        fitted = [one.thresholds for one in tested]
        for thresholds, of in {"fitted": fitted, "0.5": [0.5] * len(tested)}.items():
            own = [one.test >= level for one, level in zip(tested, of, strict=True)]
            said[name, thresholds] = own
            for measure, found in zip(MEASURES, figures(there, own), strict=True):
                rows.append(_row(name, thresholds, measure, found, data, len(tested), version))
    for thresholds in ("fitted", "0.5"):
        pair = said[ADASENT, thresholds], said[REGRESSION, thresholds]
        for measure, found in zip(MEASURES, differences(there, *pair), strict=True):
            rows.append(_row("difference", thresholds, measure, found, data, len(SEEDS), version))
    return rows


def _row(
    name: str,
    thresholds: str,
    measure: str,
    found: tuple[float, float, float],
    data: Data,
    n_seeds: int,
    version: str,
) -> Row:
    value, low, high = (round(100 * one, 3) for one in found)
    return Row(
        name,
        thresholds,
        measure,
        value,
        low,
        high,
        len(data.test.texts),
        len(data.classes),
        n_seeds,
        version,
        datetime.now(UTC).date().isoformat(),
    )


def table(rows: list[Row]) -> str:
    """A line for each model and kind of thresholds."""
    lines: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        sign = "+" if row.model == "difference" else ""
        lines.setdefault((row.model, row.thresholds), []).append(
            f"{row.value:{sign}.1f} ({row.low:{sign}.1f} to {row.high:{sign}.1f})"
        )
    body = [[name, thresholds, *cells] for (name, thresholds), cells in lines.items()]
    made = markdown(["", "thresholds", *(f"{one}, %" for one in MEASURES)], body)
    one = rows[-1]
    origin = (
        f"{one.n_classes} labels, {one.n_test} test questions; mean of {len(SEEDS)} seeds. "
        f"Measured at {one.adasent}, {one.date}."
    )
    return f"{made}\n\n{origin}"


def main() -> None:
    """Train, test, write; or only make the table again."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--table", action="store_true", help="of the rows that are there")
    if not parser.parse_args().table:
        rows = run()
        with RESULTS.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [f.name for f in fields(Row)], lineterminator="\n")
            writer.writeheader()
            writer.writerows(map(asdict, rows))
    with RESULTS.open(encoding="utf-8", newline="") as file:
        rows = [
            Row(**{f.name: _TYPES[str(f.type)](line[f.name]) for f in fields(Row)})
            for line in csv.DictReader(file)
        ]
    made = table(rows)
    print(made)
    page = put_between_marks(PAGE.read_text("utf-8"), "multilabel", Path(__file__).name, made)
    PAGE.write_text(page, "utf-8")


_TYPES = {"str": str, "float": float, "int": int}

if __name__ == "__main__":
    main()
