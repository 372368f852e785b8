"""Opens a saved AdaSent model to label texts; needs numpy and safetensors only."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from adasent.errors import ConfigError
from adasent.runtime.arrays import Doubles
from adasent.runtime.network import Network
from adasent.runtime.trace import Trace
from adasent.saving.adasent import SavedModel, read_model
from adasent.text.encoder import TextEncoder, check_texts, tokenise
from adasent.text.tokenize import Tokenizer, get_tokenizer
from adasent.text.vocabulary import SPECIALS, UNK_ID

if TYPE_CHECKING:
    from adasent.explain import Explanation


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
        """The most probable label of each text.

        Parameters
        ----------
        texts
            Strings: list, array or Series.
        """
        labels: np.ndarray = self.classes_[self.predict_proba(texts).argmax(axis=1)]
        return labels

    def predict_proba(self, texts: Any) -> Doubles:
        """(N, C) probabilities; rows sum to 1, columns are in the order of ``classes_``."""
        return self.network.probabilities(self.encoder(check_texts(texts)))

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


def encoder_of(saved: SavedModel, tokenizer: Tokenizer | None = None) -> TextEncoder:
    """From texts to ids as a saved model does it; see :func:`load`."""
    if saved.tokenizer == "custom" and tokenizer is None:
        raise ConfigError(
            "the model was trained with a tokenizer of its own; pass it: "
            "load(folder, tokenizer=...)"
        )
    return TextEncoder(
        get_tokenizer(tokenizer or saved.tokenizer), saved.vocabulary, saved.max_words
    )


def load(folder: str | os.PathLike[str], tokenizer: Tokenizer | None = None) -> Predictor:
    """Read a saved model for prediction.

    Parameters
    ----------
    folder
        What ``AdaSentClassifier.save`` or ``adasent train`` wrote.
    tokenizer
        The callable the model was trained with, needed only if it was not a named one.

    Raises
    ------
    ModelFormatError
        If the folder is not a whole and valid model.
    """
    saved = read_model(folder)
    network = Network(saved.config, saved.table, saved.tensors)
    encoder = encoder_of(saved, tokenizer)
    return Predictor(network, encoder, saved.classes, saved.training)
