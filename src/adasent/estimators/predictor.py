"""Labels texts with a saved AdaSent model; needs numpy and safetensors only.

A model that stands on an encoder needs what its encoder needs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from adasent.encoders.protocol import WordEncoder
from adasent.encoders.saved import open_words
from adasent.errors import DataError
from adasent.estimators.confidence import choose_labels
from adasent.notebook import html_table
from adasent.runtime.answers import Thresholds, exactly_right
from adasent.runtime.arrays import Doubles, Floats
from adasent.runtime.network import Network
from adasent.runtime.trace import Trace
from adasent.saving.adasent import read_adasent
from adasent.saving.model import tokenizer_of
from adasent.text.encoder import check_texts
from adasent.text.passage import read_passages
from adasent.text.tokenize import Tokenizer
from adasent.text.vocabulary import SPECIALS, UNK_ID

if TYPE_CHECKING:
    from adasent.explain import Explanation

#: Labels that the representation of a model lists.
_SHOWN = 6


class Predictor:
    """A trained model that predicts; it cannot be trained further.

    Matrix products run on as many threads as numpy's BLAS takes. For a text of ordinary length one
    is as fast as many: set ``OPENBLAS_NUM_THREADS=1`` before the program starts.

    Attributes
    ----------
    classes_
        The labels, in the order of the columns of ``predict_proba``.
    training_
        How the model came about; see ``docs/format.md``.
    thresholds_
        Where a text may have several labels, the probability from which on it has each of them;
        else None.
    """

    def __init__(
        self,
        network: Network,
        encoder: WordEncoder,
        classes: np.ndarray,
        training: dict[str, Any] | None = None,
        thresholds: Doubles | None = None,
    ) -> None:
        self.network = network
        self.encoder = encoder
        self.classes_ = classes
        self.training_ = training or {}
        self.thresholds_ = thresholds

    def predict(
        self,
        texts: Any,
        thresholds: Thresholds | None = None,
        *,
        min_confidence: float | None = None,
    ) -> np.ndarray:
        """The most probable label of each text of a list, array or Series.

        With a ``min_confidence`` from 0 to 1, None for texts whose label is less probable.

        Where a text may have several labels: (N,) tuples, of all labels whose probability is at
        least their threshold. ``thresholds`` in place of the model's own: one number, a mapping
        from label to number, or a number for each class.
        """
        found = self.predict_proba(texts)
        return choose_labels(found, self.classes_, self.thresholds_, thresholds, min_confidence)

    def predict_proba(self, texts: Any) -> Doubles:
        """(N, C) probabilities; columns are in the order of ``classes_``.

        Rows sum to 1, unless a text may have several labels.
        """
        found = [self.network.classify(rows) for rows in self.encoder.stream(check_texts(texts))]
        return np.concatenate(found) if len(found) != 1 else found[0]

    def predict_log_proba(self, texts: Any) -> Doubles:
        """The logarithms of :meth:`predict_proba`; minus infinity for a probability of 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(texts))

    def transform(self, texts: Any) -> Floats:
        """(N, 2 D) vectors of texts, for other models or to look for similar texts.

        The first D numbers are the mean of a text's levels by the beliefs in them, the others are
        the top of its pyramid: the whole text, or its longest phrases where ``max_height`` bounds
        them. Both are as the classifier reads them, after the norm of the levels. The names of the
        columns: :meth:`get_feature_names_out`.
        """
        found = [
            self.network.on(rows.table).summaries(rows.ids)
            for rows in self.encoder.stream(check_texts(texts))
        ]
        return np.concatenate(found)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of :meth:`transform`: ``mean0`` and so on, then ``top0``."""
        size = self.network.config.hidden_size
        names = [f"{part}{i}" for part in ("mean", "top") for i in range(size)]
        return np.array(names, dtype=object)

    def score(self, texts: Any, labels: Any) -> float:
        """The share of texts that get the label, or all the labels, that they should have."""
        if self.thresholds_ is not None:
            return float(exactly_right(self.predict(texts), labels, self.classes_).mean())
        found, expected = self.predict(texts), np.asarray(labels)
        if found.shape != expected.shape or not len(found):
            raise DataError(
                f"expected as many labels as texts, and at least one, got {len(found)} texts and "
                f"labels of shape {expected.shape}"
            )
        return float(np.mean(found == expected))

    def __repr__(self) -> str:
        labels = self.classes_.tolist()
        listed = ", ".join(map(str, labels[:_SHOWN])) + (", ..." if len(labels) > _SHOWN else "")
        classes = "1 class" if len(labels) == 1 else f"{len(labels)} classes"
        if self.thresholds_ is not None:
            classes = f"any of {classes}"
        config = self.network.config
        n_words = self.encoder.n_words
        return (
            f"Predictor(adasent, {classes}: {listed}; {n_words:,} words of {config.vector_size} "
            f"dimensions, units of {config.hidden_size})"
        )

    def _repr_html_(self) -> str:
        """A table of what the model is, for notebooks."""
        config, facts = self.network.config, self.training_
        sets = _of(facts.get("vectors"), dict, {}).get("sets")
        names = [str(one.get("name")) for one in _of(sets, list, []) if isinstance(one, dict)]
        n_texts = _of(facts.get("n_texts"), int, None)
        rows = {
            "system": "AdaSent",
            "classes": ", ".join(map(str, self.classes_.tolist())),
            "words": f"{self.encoder.n_words:,} of {config.vector_size} dimensions",
            "word vectors": " + ".join(names) or None,
            "units": config.hidden_size,
            "trained on": None if n_texts is None else f"{n_texts:,} texts",
        }
        return html_table({name: value for name, value in rows.items() if value is not None})

    @overload
    def trace(self, texts: str) -> Trace: ...

    @overload
    def trace(self, texts: Any) -> list[Trace]: ...

    def trace(self, texts: Any) -> Trace | list[Trace]:
        """All that the model computes about a text, or about each text of a list.

        Every unit is kept: for T words and D dimensions, 2 T^2 D bytes.
        """
        if isinstance(texts, str):
            return self.trace([texts])[0]
        encoder = self.encoder
        passages = read_passages(check_texts(texts), encoder.tokenizer, encoder.max_words)
        rows = encoder.rows(passages)
        network = self.network.on(rows.table)
        return [
            network.trace(one.tokens or [SPECIALS[UNK_ID]], ids)
            for one, ids in zip(passages, rows.ids, strict=True)
        ]

    @overload
    def explain(self, texts: str, *, method: str = "shapley") -> Explanation: ...

    @overload
    def explain(self, texts: Any, *, method: str = "shapley") -> list[Explanation]: ...

    def explain(self, texts: Any, *, method: str = "shapley") -> Explanation | list[Explanation]:
        """Why a text, or each text of a list, gets its label; see ``docs/explanations.md``."""
        from adasent.explain import explain  # not needed to predict

        found: Explanation | list[Explanation] = explain(self, texts, method=method)
        return found


def _of(value: Any, kind: type, other: Any) -> Any:
    """A value of how the model came about, which somebody else may have written; or another."""
    return value if isinstance(value, kind) else other


def load(folder: str | os.PathLike[str], tokenizer: Tokenizer | None = None) -> Predictor:
    """As :func:`adasent.estimators.registry.load`, for a model of AdaSent alone."""
    saved, config, vocabulary, table, tensors = read_adasent(folder)
    network = Network(config, table, tensors)
    encoder = open_words(
        saved.encoder, Path(folder), tokenizer_of(saved, tokenizer), vocabulary, saved.max_words
    )
    return Predictor(network, encoder, saved.classes, saved.training, saved.thresholds)
