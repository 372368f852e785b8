"""A small encoded data set, and networks and settings to train on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from adasent.systems.adasent import AdaSent
from adasent.systems.config import AdaSentConfig
from adasent.text.tokenize import words
from adasent.text.vocabulary import Vocabulary
from adasent.training.config import TrainingConfig
from adasent.training.examples import Examples


@pytest.fixture(scope="session")
def examples(reviews: tuple[list[str], list[str]]) -> Examples:
    """The first 60 reviews, one-hot, of equal weight."""
    texts, labels = (column[:60] for column in reviews)
    tokens = [words(text) for text in texts]
    vocabulary = Vocabulary.build(tokens)
    targets = np.array([[label == "neg", label == "pos"] for label in labels], dtype=np.float32)
    return Examples(
        [vocabulary.encode(row) for row in tokens], targets, np.ones(60, dtype=np.float32)
    )


@pytest.fixture
def make_model(examples: Examples) -> Callable[..., AdaSent]:
    """Networks for these examples; the same settings give the same weights."""
    n_words = max(int(row.max()) for row in examples.ids) + 1

    def make(**settings: Any) -> AdaSent:
        config = AdaSentConfig(
            n_trained=n_words,
            n_classes=2,
            vector_size=6,
            **({"hidden_size": 6, "classifier_size": 5} | settings),
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model = AdaSent(config)
            model.embedding.set_vectors(torch.randn(n_words, 6))
        return model

    return make


@pytest.fixture
def make_config() -> Callable[..., TrainingConfig]:
    """Fast settings without dropout, any of them replaced."""

    def make(**settings: Any) -> TrainingConfig:
        calm = {"word_dropout": 0.0, "vector_dropout": 0.0, "dropout": 0.0}
        fast = {"learning_rate": 0.01, "epochs": 3, "batch_size": 20}
        return TrainingConfig(**(calm | fast | settings))

    return make
