"""Labels texts with a saved AdaSent model; needs numpy and safetensors only."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from adasent.errors import DataError
from adasent.runtime.arrays import Doubles
from adasent.runtime.network import Network
from adasent.runtime.trace import Trace
from adasent.saving.adasent import read_adasent
from adasent.saving.model import tokenizer_of
from adasent.text.encoder import TextEncoder, check_texts, tokenise
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
    """

    def __init__(
        self,
        network: Network,
        encoder: TextEncoder,
        classes: np.ndarray,
        training: dict[str, Any] | None = None,
    ) -> None:
        self.network = network
        self.encoder = encoder
        self.classes_ = classes
        self.training_ = training or {}

    def predict(self, texts: Any) -> np.ndarray:
        """The most probable label of each text of a list, array or Series."""
        labels: np.ndarray = self.classes_[self.predict_proba(texts).argmax(axis=1)]
        return labels

    def predict_proba(self, texts: Any) -> Doubles:
        """(N, C) probabilities; rows sum to 1, columns are in the order of ``classes_``."""
        return self.network.probabilities(self.encoder(check_texts(texts)))

    def score(self, texts: Any, labels: Any) -> float:
        """The share of texts that get the label they should have."""
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
        config = self.network.config
        n_words = config.n_trained + config.n_fixed
        return (
            f"Predictor(adasent, {classes}: {listed}; {n_words:,} words of {config.vector_size} "
            f"dimensions, units of {config.hidden_size})"
        )

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
        traces = []
        for tokens in tokenise(check_texts(texts), encoder.tokenizer, encoder.max_words):
            ids = encoder.vocabulary.encode(tokens)
            traces.append(self.network.trace(tokens or [SPECIALS[UNK_ID]], ids))
        return traces

    @overload
    def explain(self, texts: str, *, exact: bool = False) -> Explanation: ...

    @overload
    def explain(self, texts: Any, *, exact: bool = False) -> list[Explanation]: ...

    def explain(self, texts: Any, *, exact: bool = False) -> Explanation | list[Explanation]:
        """Why a text, or each text of a list, gets its label; see ``docs/explanations.md``."""
        from adasent.explain import explain  # not needed to predict

        found: Explanation | list[Explanation] = explain(self, texts, exact=exact)
        return found


def load(folder: str | os.PathLike[str], tokenizer: Tokenizer | None = None) -> Predictor:
    """As :func:`adasent.estimators.registry.load`, for a model of AdaSent alone."""
    saved, config, vocabulary, table, tensors = read_adasent(folder)
    network = Network(config, table, tensors)
    encoder = TextEncoder(tokenizer_of(saved, tokenizer), vocabulary, saved.max_words)
    return Predictor(network, encoder, saved.classes, saved.training)
