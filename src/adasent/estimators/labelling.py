"""A saved model of any system, and texts -> what it says of each: label, confidence, reasons."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from adasent.errors import AdaSentWarning, ConfigError, setting
from adasent.estimators.answers import Answer, Reasons
from adasent.estimators.registry import describe, load, load_estimator, saved_system

if TYPE_CHECKING:
    import numpy as np

    from adasent.data.tables import Table
    from adasent.runtime.answers import Thresholds
    from adasent.text.tokenize import Tokenizer

#: Texts that are answered together.
CHUNK = 1024


class Labeller(Protocol):
    """What the commands ask of a model."""

    classes_: np.ndarray
    training_: dict[str, Any]
    thresholds_: np.ndarray | None

    def predict(self, texts: Any, /) -> np.ndarray:
        """A label for each text."""

    def predict_proba(self, texts: Any, /) -> np.ndarray:
        """(N, C) probabilities."""


def open_model(folder: Path, device: str | None = None) -> Labeller:
    """The saved model of any system; AdaSent's needs numpy alone, but on a GPU."""
    if device is None:
        model: Labeller = load(folder)
        return model
    if not describe(saved_system(folder)).by_epochs:
        raise ConfigError(
            f"{setting('device', device)}: {saved_system(folder)} has no network to put there"
        )
    from adasent.estimators.prediction import find_device  # which needs torch

    find_device(device)  # before the model is read
    network = load_estimator(folder)
    network.device = device
    labeller: Labeller = network
    return labeller


class Counting:
    """A tokenizer that counts odd texts over a whole stream, for one warning at its end."""

    def __init__(self, tokenizer: Tokenizer, max_words: int) -> None:
        self.tokenizer = self.same_tokens_as = tokenizer
        self.max_words = max_words
        self.n_texts = self.n_empty = self.n_long = 0

    def __call__(self, text: str) -> list[str]:
        tokens = self.tokenizer(text)
        self.n_texts += 1
        self.n_empty += not tokens
        self.n_long += len(tokens) > self.max_words
        return tokens

    def warn(self) -> None:
        """What was odd, if anything."""
        odd = {
            f"longer than max_words={self.max_words}, cut there": self.n_long,
            "without a word, read as one unknown word": self.n_empty,
        }
        notes = [f"{n} {what}" for what, n in odd.items() if n]
        if notes:
            message = f"of {self.n_texts} texts: {'; '.join(notes)}"
            warnings.warn(message, AdaSentWarning, stacklevel=2)


def count_texts(model: Any) -> Counting:
    """Put a counting tokenizer into a model of any system."""
    if hasattr(model, "tokenizer_"):  # systems that count n-grams have no encoder
        model.tokenizer_ = counting = Counting(model.tokenizer_, model.max_words_)
        return counting
    encoder = model.encoder_ if hasattr(model, "encoder_") else model.encoder
    encoder.tokenizer = counting = Counting(encoder.tokenizer, encoder.max_words)
    return counting


class Said(NamedTuple):
    """What a model says of a text."""

    label: Any  # a tuple of labels where a text may have several; None where it is not sure enough
    confidence: float | None  # of the label, or of the least sure one of several
    shares: list[float] | None  # of each class, where they were asked for
    reasons: Reasons | None  # where they were asked for


_NOTHING = Said(None, None, None, None)


class Answering(NamedTuple):
    """How texts are answered."""

    thresholds: Thresholds | None = None
    min_confidence: float | None = None
    proba: bool = False
    explain: str | None = None  # how words are scored; None gives no reasons

    def check(self, model: Any) -> None:
        """Refuse what this model cannot do."""
        if model.thresholds_ is not None and self.min_confidence is not None:
            raise ConfigError(
                f"{setting('min_confidence')}: this model gives a text several labels or none; "
                f"use {setting('threshold')}"
            )
        if self.explain is not None:
            from adasent.checks import check_choice
            from adasent.explain.explanation import METHODS

            check_choice("explain", self.explain, tuple(METHODS))
            if not hasattr(model, "explain"):
                raise ConfigError(
                    f"{setting('explain', self.explain)}: only a model of AdaSent tells its "
                    "reasons; leave it out"
                )


#: Called with (N, C) probabilities; gives the label of each text.
Choice = Callable[["np.ndarray"], "np.ndarray"]
#: The same where rows of a table are labelled: called with their numbers and texts before it.
RowChoice = Callable[[Sequence[int], Sequence[str], "np.ndarray"], "np.ndarray"]


class Columns(NamedTuple):
    """Which columns of a table are read and kept."""

    kept: list[int]  # by position
    at: int  # the texts
    chosen: dict[str, str]  # role -> name, where names were looked at


def columns_of(table: Table, text: str | None, id: str | None) -> Columns:
    """The columns of a table that is to be labelled; an ``id`` is kept alone."""
    from adasent.data.columns import choose_columns

    if table.plain:
        if id is not None:
            raise ConfigError(f"{setting('id')}: plain lines have no columns; leave it out")
        return Columns([0], 0, {})
    if not table.columns:  # an empty file
        return Columns([], 0, {})
    chosen = choose_columns(table.path, table.columns, {"text": text, "id": id})
    kept = [table.columns.index(chosen["id"])] if id is not None else range(len(table.columns))
    return Columns(list(kept), table.columns.index(chosen["text"]), chosen)


def answer_rows(
    model: Any,
    table: Table,
    columns: Columns,
    how: Answering,
    *,
    file: str | None = None,
    shift: int = 0,
    size: int = CHUNK,
    choose: RowChoice | None = None,
) -> Iterator[tuple[list[Answer], int]]:
    """What a model says of the rows of a table, a chunk at a time; and how many have no text.

    Parameters
    ----------
    file
        Stands before the values of each row; None does not.
    shift
        Added to the numbers of rows.
    choose
        Chooses labels in place of ``how``.
    """
    from adasent.data.readers import text_of

    kept = columns.kept
    whole = len(kept) == len(table.columns)
    while rows := list(islice(table.rows, size)):
        texts = [text_of(table, row, columns.at) for row in rows]
        numbers = [row.number for row, text in zip(rows, texts, strict=True) if text is not None]
        there = [text for text in texts if text is not None]
        found = answer(model, there, how, choose and partial(choose, numbers, there))
        answers = []
        for row, text in zip(rows, texts, strict=True):
            values = row.values if whole else [row.values[i] for i in kept]
            extra = row.extra if whole else {}
            said = _NOTHING if text is None else next(found)
            answers.append(
                Answer(
                    row.number + shift, values if file is None else [file, *values], extra, *said
                )
            )
        yield answers, len(texts) - len(there)


def answer(
    model: Any, texts: Sequence[str], how: Answering, choose: Choice | None = None
) -> Iterator[Said]:
    """What a model says of texts, one by one; ``choose`` chooses labels in place of ``how``."""
    if not texts:
        return
    from adasent.estimators.confidence import choose_labels

    reasons: list[Any] = [None] * len(texts)
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", r"of \d+ text", AdaSentWarning
        )  # counted, told at the end
        if how.explain is None:
            probabilities = model.predict_proba(texts)
        else:
            probabilities, reasons = _explained(model, texts, how.explain)
    if choose is not None:
        labels = choose(probabilities)
    else:
        labels = choose_labels(
            probabilities, model.classes_, model.thresholds_, how.thresholds, how.min_confidence
        )
    shares = probabilities.round(6)
    sure = _confidences(model, labels, shares)
    wanted = shares.tolist() if how.proba else [None] * len(texts)
    yield from map(Said, labels.tolist(), sure, wanted, reasons)


def _confidences(model: Any, labels: np.ndarray, shares: np.ndarray) -> list[float | None]:
    """The probability of the label, or of the least sure of several, if there is one."""
    if model.thresholds_ is None:
        best: list[float | None] = shares.max(axis=1).tolist()
        return best
    at = {label: i for i, label in enumerate(model.classes_.tolist())}
    return [
        min((float(row[at[one]]) for one in given), default=None)
        for given, row in zip(labels, shares, strict=True)
    ]


def _explained(model: Any, texts: Sequence[str], method: str) -> tuple[np.ndarray, list[Reasons]]:
    """Probabilities, and why each text gets its label; of several labels, the first one."""
    import numpy as np

    found = model.explain(texts, method=method)
    encoder = model.encoder_ if hasattr(model, "encoder_") else model.encoder
    if isinstance(encoder.tokenizer, Counting):  # texts as long as can be read were read twice
        encoder.tokenizer.n_texts -= sum(len(one.tokens) == encoder.max_words for one in found)
        encoder.tokenizer.n_long -= sum(one.truncated for one in found)
    reasons = []
    for one in found:
        scores = one.words[:, one.column(one.shown[0])].round(4).tolist()
        words = [list(pair) for pair in zip(one.tokens, scores, strict=True)]
        reasons.append(Reasons(one.verdict, words))
    return np.array([one.probabilities for one in found]), reasons
