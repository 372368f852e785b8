"""Estimators of the paper's other networks, made from the table of systems.

They differ from ``AdaSentClassifier`` in the network alone: same texts, vectors, training and
tests. The keywords of each are the fields of its network's config, of ``TrainingConfig``, and those
that say how texts are read. Prediction needs torch. ``CBowClassifier``, ``CnnClassifier`` and so on
can be imported from here: the name of a network in :mod:`adasent.systems`, and ``Classifier``.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, make_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from adasent.data.span_parser import N_ROWS, SpanParser, parse_texts, treebank_parser
from adasent.errors import nearest
from adasent.estimators.neural import NeuralClassifier
from adasent.estimators.prediction import network_proba
from adasent.estimators.registry import SYSTEMS, SystemEntry
from adasent.estimators.saved_network import network_settings
from adasent.saving.adasent import network_schema
from adasent.saving.model import Opened, Stored, read_model
from adasent.systems.config import SystemConfig
from adasent.text.passage import Passage, read_passages
from adasent.text.tokenize import Tokenizer, get_tokenizer, tokenizer_name
from adasent.text.vocabulary import Vocabulary

_PARSER = "parser"


@dataclass(kw_only=True, eq=False, repr=False)
class RivalClassifier(NeuralClassifier):
    """Base of the estimators; :func:`estimator_of` makes one of each network."""

    def __new__(cls, **settings: Any) -> Self:
        valid = cls._get_param_names()
        for name in settings:
            if name not in valid:
                raise TypeError(f"{cls.__name__} has no keyword {name!r}{nearest(name, valid)}")
        made: Self = super().__new__(cls)
        return made

    # -- saving --------------------------------------------------------------------------------

    @classmethod
    def _open(cls, folder: str | os.PathLike[str]) -> Opened[SystemConfig, Vocabulary]:
        return read_model(
            folder, network_schema(cls.system, cls.config_type.from_dict, cls._expected)
        )

    @classmethod
    def _expected(cls, config: SystemConfig) -> dict[str, Stored]:
        """The tensors of a network of this shape."""
        with torch.device("meta"):  # shapes alone, whatever sizes the file claims
            tensors = cls.network_type(config).state_dict()
        return {name: Stored(tuple(tensor.shape)) for name, tensor in tensors.items()}

    @classmethod
    def _from_opened(
        cls, opened: Opened[Any, Vocabulary], tokenizer: Tokenizer | None, folder: Path
    ) -> Self:
        clf = super()._from_opened(opened, tokenizer, folder)
        with torch.random.fork_rng(devices=[]):
            model = cls.network_type(opened.config)
        tensors = {name: torch.from_numpy(array) for name, array in opened.saved.tensors.items()}
        model.load_state_dict({name: tensors[name] for name in model.state_dict()})
        clf.model_ = model.eval()
        return clf


@dataclass(kw_only=True, eq=False, repr=False)
class TreeClassifier(RivalClassifier):
    """Base of the estimators of networks that compose along trees.

    ``parser`` makes the trees, None being one trained on the registered treebanks; those of
    ``treebank`` are preferred for the sentences that it holds. The parser is saved with the model.
    """

    parser: Any = None
    treebank: Any = None

    def _parse(self, passages: Sequence[Passage]) -> list[np.ndarray] | None:
        self.parser_ = self.parser
        if self.parser is None:
            name = tokenizer_name(get_tokenizer(self.tokenizer))
            self.parser_ = treebank_parser("words" if name == "custom" else name)
        texts, tokens = [one.text for one in passages], [one.tokens for one in passages]
        return parse_texts(texts, tokens, self.parser_, self.treebank)

    def _by_network(self, texts: list[str]) -> np.ndarray:
        encoder = self.encoder_
        passages = read_passages(texts, encoder.tokenizer, encoder.max_words)
        return network_proba(self._placed(), encoder.rows(passages).ids, self._parse(passages))

    @classmethod
    def _expected(cls, config: SystemConfig) -> dict[str, Stored]:
        return super()._expected(config) | {_PARSER: Stored((N_ROWS,))}

    def _stored(self) -> tuple[SystemConfig, dict[str, np.ndarray]]:
        config, tensors = super()._stored()
        return config, tensors | {_PARSER: self.parser_.weights}

    @classmethod
    def _from_opened(
        cls, opened: Opened[Any, Vocabulary], tokenizer: Tokenizer | None, folder: Path
    ) -> Self:
        clf = super()._from_opened(opened, tokenizer, folder)
        clf.parser = clf.parser_ = SpanParser(opened.saved.tensors[_PARSER])
        return clf


@cache
def estimator_of(entry: SystemEntry) -> type[RivalClassifier]:
    """The estimator class of a network in the table of systems."""
    network = getattr(importlib.import_module(entry.module), entry.attribute)
    config = {f.name: f for f in fields(network.config_type)}
    return make_dataclass(
        f"{entry.attribute}Classifier",
        [
            (name, config[name].type, field(default=config[name].default))
            for name in network_settings(network.config_type)
        ],
        bases=(TreeClassifier if entry.trees else RivalClassifier,),
        namespace={
            "__doc__": f"{entry.title} ({entry.paper}): {entry.summary}.\n\n"
            f"See :mod:`{entry.module}`.",
            "__module__": __name__,
            "system": entry.name,
            "network_type": network,
            "config_type": network.config_type,
        },
        kw_only=True,
        eq=False,
        repr=False,
    )


def __getattr__(name: str) -> Any:
    for entry in SYSTEMS.values():
        if entry.is_network and name == f"{entry.attribute}Classifier":
            return estimator_of(entry)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
