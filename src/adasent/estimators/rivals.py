"""Estimators of the paper's other networks, each with the keywords of its config.

They differ from ``AdaSentClassifier`` in the network alone: same texts, vectors, training and
tests. Saved folders are those of :mod:`adasent.saving.systems`; prediction needs torch.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from adasent.data.span_parser import SpanParser, parse_texts, treebank_parser
from adasent.errors import ConfigError, ModelFormatError, nearest
from adasent.estimators.neural import NeuralClassifier, network_settings
from adasent.saving.systems import SavedSystem, read_system, write_system
from adasent.systems.cbow import CBow, CBowConfig
from adasent.systems.cnn import Cnn, CnnConfig
from adasent.systems.config import SystemConfig
from adasent.systems.dcnn import Dcnn, DcnnConfig
from adasent.systems.grconv import GrConv, GrConvConfig
from adasent.systems.mvrnn import MvRecNN, MvRecNNConfig
from adasent.systems.rae import Rae, RaeConfig
from adasent.systems.rnn import BRnn, Rnn, RnnConfig
from adasent.text.encoder import TextEncoder
from adasent.text.tokenize import Tokenizer, get_tokenizer, tokenizer_name
from adasent.text.vocabulary import Vocabulary
from adasent.training.config import TrainingConfig, suited_to
from adasent.training.history import History

#: Keywords that say how texts are read and how a run is made, with those of AdaSentClassifier.
_COMMON: dict[str, Any] = {
    "vectors": None,
    "vector_size": 50,
    "extra_words": 30_000,
    "tokenizer": "words",
    "min_count": 1,
    "max_words": 2000,
    "validation_fraction": 0.1,
    "class_weight": None,
    "checkpoint": None,
    "random_state": 0,
    "n_jobs": None,
    "verbose": 0,
}


class RivalClassifier(NeuralClassifier):
    """Base of the estimators below: keywords from dataclasses, and saving."""

    def __init_subclass__(cls, extra: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        training = _defaults(TrainingConfig) | dict.fromkeys(suited_to(0))
        defaults = _COMMON | _defaults(cls.config_type) | training | (extra or {})

        def __init__(self: RivalClassifier, **settings: Any) -> None:
            for name in settings:
                if name not in defaults:
                    hint = nearest(name, list(defaults))
                    raise TypeError(f"{cls.__name__} has no keyword {name!r}{hint}")
            for name, default in defaults.items():
                setattr(self, name, settings.get(name, default))

        # What scikit-learn reads the parameters from.
        keyword = inspect.Parameter.KEYWORD_ONLY
        __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY),
                *(inspect.Parameter(n, keyword, default=v) for n, v in defaults.items()),
            ]
        )
        cls.__init__ = __init__  # type: ignore[method-assign,assignment]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder; see ``docs/systems.md``."""
        self._check_fitted("call fit before save")
        arrays = {name: tensor.numpy() for name, tensor in self.model_.state_dict().items()}
        write_system(
            folder,
            SavedSystem(
                self.system,
                self.model_.config.to_dict(),
                tokenizer_name(self.encoder_.tokenizer),
                self.encoder_.max_words,
                self.classes_,
                self.vocabulary_.to_list(),
                arrays | self._more_arrays(),
                self.training_,
            ),
        )

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, tokenizer: Tokenizer | None = None) -> Self:
        """Read a saved model.

        Parameters
        ----------
        tokenizer
            The callable the model was trained with, needed only if it was not a named one.
        """
        saved = read_system(folder, cls.system)
        if saved.tokenizer == "custom" and tokenizer is None:
            raise ConfigError(
                f"the model in {folder} was trained with a tokenizer of its own; pass it: "
                f"{cls.__name__}.load(folder, tokenizer=...)"
            )
        arrays = dict(saved.arrays)
        try:
            config = cls.config_type.from_dict(saved.settings)
            vocabulary = Vocabulary.from_list(saved.vocabulary, n_training=config.n_trained)
            history = History.from_dict(saved.training["history"])
            settings = TrainingConfig(**saved.training["settings"]).to_dict()
            own = {name: getattr(config, name) for name in network_settings(cls.config_type)}
            clf = cls(
                **own,
                **settings,
                tokenizer=tokenizer or saved.tokenizer,
                max_words=saved.max_words,
                random_state=saved.training.get("seed", 0),
            )
            clf._take_arrays(arrays)
            model = cls.network_type(config)
            expected = {name: tuple(t.shape) for name, t in model.state_dict().items()}
            SavedSystem(**vars(saved) | {"arrays": arrays}).check_shapes(expected)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ModelFormatError(f"{Path(folder)}: cannot be read: {error}") from error
        model.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
        clf.classes_ = saved.classes
        clf.vocabulary_ = vocabulary
        clf.encoder_ = TextEncoder(get_tokenizer(clf.tokenizer), vocabulary, saved.max_words)
        clf.model_ = model.eval()
        clf.history_ = history
        clf.training_ = saved.training
        return clf

    def _more_arrays(self) -> dict[str, np.ndarray]:
        """What else a model needs to predict."""
        return {}

    def _take_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        """Inverse of :meth:`_more_arrays`; takes its own out."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")


def _defaults(config: type) -> dict[str, Any]:
    """Fields of a dataclass that have a default, but for the sizes that follow from the data."""
    sizes = {f.name for f in fields(SystemConfig)}
    return {
        f.name: f.default
        for f in fields(config)
        if f.name not in sizes and f.default is not MISSING
    }


class CBowClassifier(RivalClassifier):
    """Continuous bag of words: mean or maximum of the word vectors, then an MLP."""

    system, network_type, config_type = "cbow", CBow, CBowConfig


class RnnClassifier(RivalClassifier):
    """A simple recurrent network; its last state is the sentence."""

    system, network_type, config_type = "rnn", Rnn, RnnConfig


class BRnnClassifier(RivalClassifier):
    """A bidirectional recurrent network, pooled over words (Lai et al. 2015)."""

    system, network_type, config_type = "brnn", BRnn, RnnConfig


class GrConvClassifier(RivalClassifier):
    """The root of the pyramid (Cho et al. 2014)."""

    system, network_type, config_type = "grconv", GrConv, GrConvConfig


class CnnClassifier(RivalClassifier):
    """Kim's CNN (2014).

    Rand: ``vectors=None``. Static: ``fine_tune=False``. Non-static: the default with vectors.
    Multichannel: ``multichannel=True``.
    """

    system, network_type, config_type = "cnn", Cnn, CnnConfig
    multichannel: bool

    def _widen(self, table: np.ndarray) -> np.ndarray:
        return np.concatenate([table, table], axis=1) if self.multichannel else table


class DcnnClassifier(RivalClassifier):
    """Kalchbrenner et al.'s dynamic CNN (2014)."""

    system, network_type, config_type = "dcnn", Dcnn, DcnnConfig


class RaeClassifier(RivalClassifier):
    """Socher et al.'s semi-supervised recursive autoencoder (2011)."""

    system, network_type, config_type = "rae", Rae, RaeConfig


class MvRecNNClassifier(RivalClassifier, extra={"parser": None, "treebank": None}):
    """Socher et al.'s matrix-vector recursive network (2012).

    ``parser`` makes the trees; None is one trained on the registered treebanks. With a
    ``treebank``, sentences that it holds have its trees.
    """

    system, network_type, config_type = "mv-recnn", MvRecNN, MvRecNNConfig
    parser: Any
    treebank: Any

    def _parse(
        self, texts: Sequence[str], tokens: Sequence[Sequence[str]]
    ) -> list[np.ndarray] | None:
        self.parser_ = self.parser
        if self.parser is None:
            name = tokenizer_name(get_tokenizer(self.tokenizer))
            self.parser_ = treebank_parser("words" if name == "custom" else name)
        return parse_texts(texts, tokens, self.parser_, self.treebank).heights

    def _more_arrays(self) -> dict[str, np.ndarray]:
        return {"parser": self.parser_.weights}

    def _take_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        self.parser = SpanParser(arrays.pop("parser"))
        self.parser_ = self.parser


RIVALS: dict[str, type[RivalClassifier]] = {
    kind.system: kind
    for kind in (
        CBowClassifier,
        RnnClassifier,
        BRnnClassifier,
        GrConvClassifier,
        CnnClassifier,
        DcnnClassifier,
        RaeClassifier,
        MvRecNNClassifier,
    )
}
