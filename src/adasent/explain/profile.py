"""At which scale a model decides each class of a labelled corpus, as tables.

Scale has two meanings. By *level*, what the mixture gives to phrases of t words, exactly. By
*phrase*, how many words act together where something is added: a phrase of a level may be no more
than a copy of one word, and then counts as that word.

Where a text may have several labels, each label that it gets is a decision of its own.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from adasent.data.corpus import Label, Labels
from adasent.errors import DataError
from adasent.explain.explainer import Model, explain
from adasent.explain.explanation import Explanation
from adasent.explain.html import document
from adasent.runtime.arrays import Doubles, Ints
from adasent.saving.whole import whole_file
from adasent.text.halves import writable
from adasent.text.passage import Passage, read_passages

Bands = tuple[tuple[str, int], ...]
"""Sizes that are counted together: name and last."""

#: Words of a phrase, or levels.
BANDS: Bands = (("1", 1), ("2", 2), ("3-4", 4), ("5-8", 8), ("9+", 10**9))
#: Words of a text.
LENGTHS: Bands = (("1-5", 5), ("6-10", 10), ("11-20", 20), ("21-40", 40), ("41+", 10**9))

#: Texts explained at a time; of the explanations only sums are kept.
CHUNK_TEXTS = 1000
N_SHUFFLES = 3
#: A loss of accuracy that matters, when words are shuffled.
MATTERING_LOSS = 0.01
_MIN_PHRASES, _MAX_PHRASES = 3, 15
_SHADE = "#6a6a6a"  # of shares; a colour is a class

Table = tuple[tuple[str, ...], list[tuple[Any, ...]]]
"""Names of the columns, and rows."""


@dataclass(frozen=True)
class Order:
    """What the order of words is worth to a model.

    Where a text may have several labels, a text counts as right that gets all of its labels and no
    other.
    """

    accuracy: float
    shuffled: float  # accuracy with the words of each text in random order
    low: float  # 95 % interval of the accuracy lost
    high: float
    changed: float  # share of labels that change

    @property
    def answer(self) -> str:
        """Whether the task needs word order, in a sentence with its figures."""
        if self.low > MATTERING_LOSS:
            verdict = "Yes"
        elif self.high < MATTERING_LOSS:
            verdict = "Hardly"
        elif self.low > 0:
            verdict = "A little; how much, these texts do not settle"
        else:
            verdict = "These texts do not settle it"
        return (
            f"Does the task need word order? {verdict}: with the words of each text shuffled, the "
            f"model's accuracy goes from {self.accuracy:.1%} to {self.shuffled:.1%} (a change of "
            f"{100 * (self.shuffled - self.accuracy):+.1f} points, 95 % interval "
            f"{0 - 100 * self.high:+.1f} to {0 - 100 * self.low:+.1f}), and {self.changed:.1%} of "
            "the labels change."
        )


@dataclass(frozen=True)
class Profile:
    """What decides in a corpus.

    Attributes
    ----------
    name, n
        The corpus and its texts.
    order
        What word order is worth.
    tables
        ``scales`` for each class and the whole, ``outcomes`` for right and wrong predictions,
        ``lengths`` for texts of different length, ``phrases`` that most often decide.
    """

    name: str
    n: int
    order: Order
    tables: dict[str, Table]

    def write(self, folder: Path) -> list[Path]:
        """Write ``profile.html`` and a CSV for each table; the paths of the files."""
        folder.mkdir(parents=True, exist_ok=True)
        written = [folder / "profile.html"]
        with whole_file(written[0]) as stream:
            stream.write(self.to_html().encode())
        order = vars(self.order)
        tables = self.tables | {"order": (tuple(order), [tuple(order.values())])}
        for name, (columns, rows) in tables.items():
            path = folder / f"{name}.csv"
            table = StringIO(newline="")
            csv.writer(table).writerows([columns, *rows])
            with whole_file(path) as stream:
                stream.write(writable(table.getvalue()).encode())
            written.append(path)
        return written

    def to_html(self) -> str:
        """A page of its own that loads nothing."""
        parts = [
            f"<h3>{escape(self.name)}: {self.n:,} texts</h3><p>{escape(self.order.answer)}</p>"
        ]
        for name, (columns, rows) in self.tables.items():
            parts.append(f"<h4>{escape(TITLES[name])}</h4><table><tr>")
            parts += [f"<th>{escape(column)}</th>" for column in columns]
            parts.append("</tr>")
            for row in rows:
                cells = (
                    _html_cell(column, value) for column, value in zip(columns, row, strict=True)
                )
                parts.append(f"<tr>{''.join(cells)}</tr>")
            parts.append("</table>")
        return document("".join(parts), f"Profile of {self.name}")


TITLES = {
    "scales": "Scale by predicted class: shares of the decision, by level and by phrase",
    "outcomes": "Scale of right and of wrong predictions",
    "lengths": "Belief by length of the text: share of belief on levels of so many words",
    "phrases": "Phrases that most often decide",
}


def profile(
    model: Model, texts: Sequence[str], labels: Sequence[Label | Labels], name: str = "corpus"
) -> Profile:
    """Explain every text and sum up.

    Parameters
    ----------
    labels
        The true ones; those the model does not know count as wrong. Tuples of them where the
        model gives a text several.
    """
    if not len(texts) or len(texts) != len(labels):
        raise DataError(
            f"expected at least one text and a label for each, got {len(texts)} and {len(labels)}"
        )
    several = model.thresholds_ is not None
    if any(isinstance(one, tuple) != several for one in labels):
        what = "a tuple of labels" if several else "one label"
        raise DataError(f"expected {what} of each text, as the model gives; got something else")
    sums = _Sums(several=several)
    for first in range(0, len(texts), CHUNK_TEXTS):
        chunk = slice(first, first + CHUNK_TEXTS)
        found = explain(model, list(texts[chunk]), method="fast")
        for explanation, label in zip(found, labels[chunk], strict=True):
            sums.add(explanation, label)
    if not sums.rows:
        raise DataError(f"{name}: the model gives none of the texts a label; nothing was decided")
    order = word_order(model, texts, labels)
    return Profile(name, len(texts), order, sums.tables())


def word_order(
    model: Model, texts: Sequence[str], labels: Sequence[Label | Labels], seed: int = 0
) -> Order:
    """Predict as the texts are, and with their words shuffled :data:`N_SHUFFLES` times."""
    encoder = model.encoder
    passages = read_passages(list(texts), encoder.tokenizer, encoder.max_words)
    rng = np.random.default_rng(seed)
    true = _truth(model, labels)
    usual = _labels(model, passages)
    right = (usual == true).all(axis=1).astype(np.float64)
    losses, changed = np.zeros(len(true)), 0.0
    for _ in range(N_SHUFFLES):
        other = _labels(model, [_shuffled(one, rng) for one in passages])
        losses += (right - (other == true).all(axis=1)) / N_SHUFFLES
        changed += float((usual != other).any(axis=1).mean()) / N_SHUFFLES
    accuracy, loss = float(right.mean()), float(losses.mean())
    half = 1.96 * float(losses.std(ddof=1)) / len(true) ** 0.5 if len(true) > 1 else float("inf")
    return Order(accuracy, accuracy - loss, loss - half, loss + half, changed)


def _shuffled(passage: Passage, rng: np.random.Generator) -> Passage:
    return passage.take(rng.permutation(len(passage.tokens)).tolist())


def _truth(model: Model, labels: Sequence[Label | Labels]) -> Ints:
    """(N, 1) the class of each text; of several labels (N, C + 1) which a text has, as 0 and 1.

    The last column says that it has labels which the model does not know.
    """
    classes = model.classes_.tolist()
    if model.thresholds_ is None:
        return np.array([[classes.index(one) if one in classes else -1] for one in labels])
    known = [[one in own for one in classes] for own in labels]  # type: ignore[operator]
    strange = [[not set(own) <= set(classes)] for own in labels]  # type: ignore[arg-type]
    return np.concatenate([known, strange], axis=1).astype(np.int64)


def _labels(model: Model, passages: Sequence[Passage]) -> Ints:
    """Which class or classes each text gets, as :func:`_truth` has them."""
    found: list[Ints] = []
    for first in range(0, len(passages), CHUNK_TEXTS):
        rows = model.encoder.rows(passages[first : first + CHUNK_TEXTS])
        probabilities = model.network.classify(rows)
        if model.thresholds_ is None:
            found.append(probabilities.argmax(axis=1)[:, None])
        else:
            said = probabilities >= model.thresholds_
            found.append(np.pad(said, ((0, 0), (0, 1))).astype(np.int64))
    return np.concatenate(found)


class _Sums:
    """The scales of all decisions so far: a row of numbers for each, and what it counts to.

    A text is one decision, or as many as it gets labels where it may have ``several``.
    """

    def __init__(self, *, several: bool) -> None:
        self.several = several
        self.rows: list[Doubles] = []
        self.keys: list[tuple[str, str, int]] = []  # predicted class, outcome, band of its length
        self.scores: defaultdict[tuple[int, str, str], list[float]] = defaultdict(list)

    def add(self, explanation: Explanation, label: Label | Labels) -> None:
        """Count a text with its true label, or labels."""
        if explanation.thresholds is None:
            best = int(explanation.probabilities.argmax())
            self._decided(explanation, best, right=explanation.classes[best] == label)
            return
        assert isinstance(label, tuple)
        for c in np.flatnonzero(explanation.probabilities >= explanation.thresholds).tolist():
            self._decided(explanation, c, right=explanation.classes[c] in label)

    def _decided(self, explanation: Explanation, best: int, *, right: bool) -> None:
        name = str(explanation.classes[best])
        probability = float(explanation.probabilities[best])
        shares = explanation.contributions[:, best] / probability
        levels = np.arange(1, len(shares) + 1)
        phrases = explanation.phrases.found
        scores = np.maximum(phrases.scores[:, best], 0.0)
        start, end = phrases.bounds.T
        parts = (
            np.array([right, probability, shares @ levels]),
            _in_bands(levels, shares),
            _in_bands(end - start, scores / (scores.sum() or 1.0)),
            _in_bands(levels, explanation.beliefs),
        )
        self.rows.append(np.concatenate(parts))
        self.keys.append(
            (name, "right" if right else "wrong", _band(LENGTHS, len(explanation.tokens)))
        )
        first = int(scores.argmax())
        if scores[first] > 0:
            words = explanation.tokens[start[first] : end[first]]
            self.scores[len(words), name, " ".join(words)].append(float(scores[first]))

    def tables(self) -> dict[str, Table]:
        head = ["labels given", "precision"] if self.several else ["texts", "accuracy"]
        scales = [*head, "probability", "mean level"]
        scales += [f"{kind} {band}" for kind in ("level", "phrase") for band, _ in BANDS]
        beliefs = [f"belief {band}" for band, _ in BANDS]
        everything = self._row("all", np.ones(len(self.rows), dtype=bool))
        lengths = [
            (LENGTHS[row[0]][0], *row[1:3], row[4], *row[-len(BANDS) :]) for row in self._by(2)
        ]
        classes, outcomes = (
            [row[: -len(BANDS)] for row in rows]
            for rows in ([*self._by(0), everything], self._by(1))
        )
        return {
            "scales": (("class", *scales), classes),
            "outcomes": (("outcome", *scales), outcomes),
            "lengths": (("words", *head, "mean level", *beliefs), lengths),
            "phrases": (
                ("words", "class", "phrase", "texts", "mean score"),
                list(self._most_often()),
            ),
        }

    def _by(self, key: int) -> list[tuple[Any, ...]]:
        """A row for each value of a key."""
        values = [keys[key] for keys in self.keys]
        return [
            self._row(value, np.array([value == other for other in values]))
            for value in sorted(set(values))
        ]

    def _row(self, name: Any, chosen: np.ndarray) -> tuple[Any, ...]:
        """Name, decisions, their mean accuracy, probability and level; then shares of bands."""
        means = np.array(self.rows)[chosen].mean(axis=0)
        phrases = means[3 + len(BANDS) : 3 + 2 * len(BANDS)]
        # Texts without a word that speaks for the class have no phrases: shares of the others.
        phrases /= phrases.sum() or 1.0
        return (name, int(chosen.sum()), *means.tolist())

    def _most_often(self) -> Iterable[tuple[Any, ...]]:
        """For each number of words, the phrases that led the ranking of most texts.

        Those that led only one are left out once some are listed.
        """
        kept: Counter[int] = Counter()
        for key in sorted(self.scores, key=lambda key: (key[0], -len(self.scores[key]), key)):
            n_words, n = key[0], len(self.scores[key])
            if kept[n_words] < _MAX_PHRASES and (n > 1 or kept[n_words] < _MIN_PHRASES):
                kept[n_words] += 1
                yield (*key, n, sum(self.scores[key]) / n)


def _band(bands: Bands, size: int) -> int:
    return next(i for i, (_, last) in enumerate(bands) if size <= last)


def _in_bands(sizes: np.ndarray, shares: Doubles) -> Doubles:
    """(bands,) shares summed over the sizes of each band."""
    lasts = [last for _, last in BANDS]
    bands = np.searchsorted(lasts, sizes)
    return np.bincount(bands, weights=shares, minlength=len(BANDS)).astype(np.float64)


def _html_cell(column: str, value: Any) -> str:
    if isinstance(value, str):
        return f"<th>{escape(value)}</th>"
    if isinstance(value, int):
        return f"<td>{value:,}</td>"
    # A share is shaded by its size, so that a row can be read at a glance.
    if column.startswith(("level ", "phrase ", "belief ")):
        shade = f' style="background:{_SHADE}{round(0.7 * 255 * value):02x}"'
        return f"<td{shade}>{value:.2f}</td>"
    return f"<td>{value:.3f}</td>"
