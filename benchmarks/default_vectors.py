r"""Which word vectors `auto` should be, and how default settings compare with simpler systems.

    python benchmarks/default_vectors.py sets      # choices of vectors, on dev parts
    python benchmarks/default_vectors.py systems   # default settings and rivals, on test parts
    python benchmarks/default_vectors.py write     # the tables into docs/vectors.md

A run that is in results/default_vectors.csv is not made again; `--sets CR,TREC --seeds 0,1` choose.
A test part is a fifth of a set, by the seed (of TREC, its own); a dev part is a fifth of the rest.
What chose the vectors has seen no test part. Seconds are processor time of `fit` on one thread.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
import warnings
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from adasent.data import held_out, load
from adasent.data.derived import open_vectors
from adasent.estimators.registry import make

ROOT = Path(__file__).parent.parent
STORE = ROOT / "benchmarks" / "results" / "default_vectors.csv"
PAGE = ROOT / "docs" / "vectors.md"

#: Epochs on dev parts: enough to tell choices apart, a fifth of the default.
EPOCHS = 6

CHOICES: dict[str, tuple[str, ...]] = {
    "none": (),
    "wiki-imdb-200d": ("wiki-imdb-200d",),
    "glove-100d + wiki-imdb-200d": ("glove-100d", "wiki-imdb-200d"),
    "minilm": ("minilm",),
    "all three": ("glove-100d", "wiki-imdb-200d", "minilm"),
}
SYSTEMS = ("tfidf-lr", "nbsvm", "brnn", "adasent")
TITLES = {
    "tfidf-lr": "TF-IDF + logistic regression",
    "nbsvm": "NB-SVM",
    "brnn": "BRNN, the same vectors",
    "adasent": "AdaSent",
}


@dataclass(frozen=True)
class Row:
    part: str  # dev or test
    data: str
    system: str
    vectors: str
    seed: int
    epochs: int  # at most; 0 where there are none
    n_train: int
    n_test: int
    accuracy: float
    seconds: float
    megabytes: float  # of the saved model; 0 where it is not saved

    @property
    def key(self) -> tuple[Any, ...]:
        return self.part, self.data, self.system, self.vectors, self.seed, self.epochs


def parts(name: str, seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Positions to train on and to test on, of both kinds of part."""
    corpus = load(name)
    if corpus.test is None:
        rest, test = held_out(corpus.labels, 0.2, seed, texts=corpus.texts)
    else:
        test = np.asarray(corpus.test)
        rest = np.setdiff1d(np.arange(len(corpus)), test)
    labels = [corpus.labels[i] for i in rest]
    texts = [corpus.texts[i] for i in rest]
    train, dev = held_out(labels, 0.2, seed, texts=texts)
    return {"dev": (rest[train], rest[dev]), "test": (rest, test)}


def sources(choice: str) -> list[Any] | None:
    """The vectors of a choice."""
    return [open_vectors(name) for name in CHOICES[choice]] or None


def run(part: str, data: str, system: str, vectors: str, seed: int, epochs: int) -> Row:
    """Train and test once."""
    corpus = load(data)
    texts, labels = np.array(corpus.texts, dtype=object), np.array(corpus.labels)
    train, test = parts(data, seed)[part]
    if system == "tfidf-lr":
        model: Any = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000))
    elif system == "nbsvm":
        model = make(system, random_state=seed)
    else:
        given = {"epochs": epochs} if part == "dev" else {}
        model = make(system, vectors=sources(vectors), random_state=seed, **given)
    started = time.process_time()
    model.fit(texts[train], labels[train])
    seconds = time.process_time() - started
    megabytes = 0.0
    if hasattr(model, "save"):
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model")
            megabytes = sum(p.stat().st_size for p in (Path(folder) / "model").iterdir()) / 1e6
    return Row(
        part,
        data,
        system,
        vectors,
        seed,
        epochs,
        len(train),
        len(test),
        float(np.mean(model.predict(texts[test]) == labels[test])),
        round(seconds, 1),
        round(megabytes, 2),
    )


def read(path: Path = STORE) -> list[Row]:
    """The rows that are there."""
    if not path.exists():
        return []
    kinds = {"str": str, "int": int, "float": float}
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Row(**{f.name: kinds[str(f.type)](line[f.name]) for f in fields(Row)})
            for line in csv.DictReader(file)
        ]


def extend(wanted: list[tuple[str, str, str, str, int, int]], path: Path = STORE) -> None:
    """Make the rows that are not there, and append each when it is made."""
    known = {row.key for row in read(path)}
    for key in wanted:
        if key in known:
            continue
        row = run(*key)
        print(row, flush=True)
        is_new = not path.exists()
        with path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [f.name for f in fields(Row)], lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerow(asdict(row))


def tables(rows: list[Row]) -> dict[str, str]:
    """Both tables, as Markdown."""
    dev = [row for row in rows if row.part == "dev"]
    test = [row for row in rows if row.part == "test"]
    return {
        "default-sets": _table(dev, "vectors", {name: name for name in CHOICES}),
        "default-systems": _table(test, "system", TITLES),
    }


def _table(rows: list[Row], name: str, titles: dict[str, str]) -> str:
    sets = list(dict.fromkeys(row.data for row in rows))
    heads = [f"{one}, %" for one in sets]
    heads += [f"{one}, s" for one in sets] + [f"{one}, MB" for one in sets]
    lines = ["| " + " | ".join(["", *heads]) + " |", "| --- " * (len(heads) + 1) + "|"]
    for key, title in titles.items():
        cells = [title]
        for field, scale, form in (
            ("accuracy", 100, ".1f"),
            ("seconds", 1, ".0f"),
            ("megabytes", 1, ".1f"),
        ):
            for one in sets:
                found = [
                    getattr(r, field) for r in rows if getattr(r, name) == key and r.data == one
                ]
                value = scale * mean(found) if found else 0
                runs = f" ({len(found)})" if field == "accuracy" and len(found) > 1 else ""
                cells.append(f"{value:{form}}{runs}" if value else "")
        if any(cells[1:]):
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write(page: Path = PAGE) -> None:
    """Replace what stands between the marks."""
    text = page.read_text(encoding="utf-8")
    for name, table in tables(read()).items():
        begin = f"<!-- {name}: made by benchmarks/default_vectors.py -->"
        end = f"<!-- end of {name} -->"
        head, rest = text.split(begin)
        text = f"{head}{begin}\n{table}\n{end}{rest.split(end)[1]}"
    page.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("sets", "systems", "write"))
    parser.add_argument("--sets", default="CR,TREC")
    parser.add_argument("--seeds", default="0")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    sets, seeds = given.sets.split(","), [int(seed) for seed in given.seeds.split(",")]
    if given.what == "sets":
        grid = [(seed, data, name) for seed in seeds for data in sets for name in CHOICES]
        extend([("dev", data, "adasent", name, seed, EPOCHS) for seed, data, name in grid])
    elif given.what == "systems":
        grid = [(seed, data, name) for seed in seeds for data in sets for name in SYSTEMS]
        extend(
            [
                ("test", data, name, "minilm" if name in ("brnn", "adasent") else "none", seed, 0)
                for seed, data, name in grid
            ]
        )
    else:
        write()


if __name__ == "__main__":
    main()
