"""Estimators of the paper's other networks, made from the table of systems.

They differ from ``AdaSentClassifier`` in the network alone: same texts, vectors, training and
tests. The keywords of each are the fields of its network's config, of ``TrainingConfig``, and those
that say how texts are read. Prediction needs torch. ``CBowClassifier``, ``CnnClassifier`` and so on
can be imported from here: the name of a network in :mod:`adasent.systems`, and ``Classifier``.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Sequence
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch

from adasent.data.span_parser import N_ROWS, SpanParser, parse_texts, treebank_parser
from adasent.errors import ConfigError, nearest
from adasent.estimators.neural import NeuralClassifier, network_settings
from adasent.estimators.registry import SYSTEMS, SystemEntry
from adasent.saving.adasent import parse_words
from adasent.saving.model import Opened, SavedModel, Schema, Stored
from adasent.systems.config import SystemConfig
from adasent.text.tokenize import Tokenizer, get_tokenizer, tokenizer_name
from adasent.text.vocabulary import Vocabulary
from adasent.training.config import TrainingConfig, suited_to

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


#: Further keywords of those that compose along trees.
_TREES: dict[str, Any] = {"parser": None, "treebank": None}
_PARSER = "parser"


class RivalClassifier(NeuralClassifier):
    """Base of the estimators; :func:`estimator_of` makes one of each network.

    ``parser`` and ``treebank`` are keywords of networks that compose along trees: who makes the
    trees, None being a parser trained on the registered treebanks; and trees that are preferred for
    the sentences that it holds.
    """

    trees: ClassVar[bool]
    parser: Any
    treebank: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        training = _defaults(TrainingConfig) | dict.fromkeys(suited_to(0))
        defaults = _COMMON | _defaults(cls.config_type) | training | (_TREES if cls.trees else {})

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

    def _widen(self, table: np.ndarray) -> np.ndarray:
        settings = {name: getattr(self, name) for name in network_settings(self.config_type)}
        return self.network_type.widen(table, settings)

    def _parse(
        self, texts: Sequence[str], tokens: Sequence[Sequence[str]]
    ) -> list[np.ndarray] | None:
        if not self.trees:
            return None
        self.parser_ = self.parser
        if self.parser is None:
            name = tokenizer_name(get_tokenizer(self.tokenizer))
            self.parser_ = treebank_parser("words" if name == "custom" else name)
        return parse_texts(texts, tokens, self.parser_, self.treebank)

    # -- saving --------------------------------------------------------------------------------

    @classmethod
    def _schema(cls) -> Schema[SystemConfig, Vocabulary]:
        def parse_settings(settings: dict[str, Any], n_classes: int) -> SystemConfig:
            config = cls.config_type.from_dict(settings)
            if n_classes != config.n_classes:
                raise ConfigError(f"{n_classes} labels for {config.n_classes} classes")
            return config

        def stored(config: SystemConfig, _: Vocabulary, n_classes: int) -> dict[str, Stored]:
            with torch.device("meta"):  # shapes alone, whatever sizes the file claims
                tensors = cls.network_type(config).state_dict()
            shapes = {name: Stored(tuple(tensor.shape)) for name, tensor in tensors.items()}
            return shapes | ({_PARSER: Stored((N_ROWS,))} if cls.trees else {})

        return Schema(
            cls.system,
            parse_settings,
            lambda words, config: parse_words(words, config.n_trained, config.n_fixed),
            stored,
        )

    def _to_saved(self) -> SavedModel:
        tensors = {name: tensor.numpy() for name, tensor in self.model_.state_dict().items()}
        if self.trees:
            tensors[_PARSER] = self.parser_.weights
        return SavedModel(
            self.system,
            self.model_.config.to_dict(),
            tokenizer_name(self.encoder_.tokenizer),
            self.encoder_.max_words,
            self.classes_,
            self.vocabulary_.to_list(),
            tensors,
            self.training_,
        )

    @classmethod
    def _from_opened(
        cls, opened: Opened[Any, Vocabulary], tokenizer: Tokenizer | None, folder: Path
    ) -> Self:
        clf = super()._from_opened(opened, tokenizer, folder)
        tensors = dict(opened.saved.tensors)
        if cls.trees:
            clf.parser = clf.parser_ = SpanParser(tensors.pop(_PARSER))
        with torch.random.fork_rng(devices=[]):
            model = cls.network_type(opened.config)
        model.load_state_dict({name: torch.from_numpy(array) for name, array in tensors.items()})
        clf.model_ = model.eval()
        return clf


def _defaults(config: type) -> dict[str, Any]:
    """Fields of a dataclass that have a default, but for the sizes that follow from the data."""
    sizes = {f.name for f in fields(SystemConfig)}
    return {
        f.name: f.default
        for f in fields(config)
        if f.name not in sizes and f.default is not MISSING
    }


@cache
def estimator_of(entry: SystemEntry) -> type[RivalClassifier]:
    """The estimator class of a network in the table of systems."""
    network = getattr(importlib.import_module(entry.module), entry.attribute)
    about = f"{entry.title} ({entry.paper}): {entry.summary}.\n\nSee :mod:`{entry.module}`."
    members = {
        "__doc__": about,
        "__module__": __name__,
        "system": entry.name,
        "network_type": network,
        "config_type": network.config_type,
        "trees": entry.trees,
    }
    return type(f"{entry.attribute}Classifier", (RivalClassifier,), members)


def __getattr__(name: str) -> Any:
    for entry in SYSTEMS.values():
        if entry.is_network and name == f"{entry.attribute}Classifier":
            return estimator_of(entry)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
