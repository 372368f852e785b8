"""Random networks in torch and numpy, and a trained model that explains reviews."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from adasent import AdaSentClassifier, Predictor
from adasent.explain import explain
from adasent.explain.explanation import Explanation
from adasent.explain.units import TIE_MARGIN
from adasent.runtime.climb import NUMPY
from adasent.runtime.network import Network
from adasent.saving.word_table import WordTable
from adasent.systems.adasent import AdaSent
from adasent.systems.config import AdaSentConfig
from adasent.text.encoder import TextEncoder
from adasent.text.tokenize import Tokenizer, words
from adasent.text.vocabulary import UNK_ID, Vocabulary
from explain_cases import filled_up

WORDS = ["a", "good", "bad", "film", "the", "plot", "was", "and", "dull", "cast"]


class Twin:
    """The same random network in torch and as a predictor."""

    def __init__(
        self, tokenizer: Tokenizer = words, vocabulary: list[str] = WORDS, **settings: Any
    ) -> None:
        n_words = len(vocabulary) + 2
        sizes = {"n_classes": 3, "vector_size": 5, "hidden_size": 7, "gate_size": 4}
        config = AdaSentConfig(n_trained=n_words, **(sizes | settings))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.model = AdaSent(config).eval()
            self.model.embedding.set_vectors(torch.randn(n_words, 5))
            with torch.no_grad():  # away from the small gates of a fresh network
                for parameter in self.model.composition.parameters():
                    parameter += 0.3 * torch.randn_like(parameter)
                if self.model.level_norm is not None:  # away from a gain of 1 and no offset
                    for parameter in self.model.level_norm.parameters():
                        parameter += 0.3 * torch.randn_like(parameter)
        for parameter in self.model.parameters():
            parameter.requires_grad_(False)
        tensors = {name: tensor.numpy() for name, tensor in self.model.state_dict().items()}
        table = WordTable.wide(tensors.pop("embedding.trained"), tensors.pop("embedding.fixed"))
        encoder = TextEncoder(tokenizer, Vocabulary(vocabulary), 30)
        classes = np.array([f"class {i}" for i in range(config.n_classes)])
        thresholds = np.full(config.n_classes, 0.5) if config.multilabel else None
        self.predictor = Predictor(
            Network(config, table, tensors), encoder, classes, thresholds=thresholds
        )

    def probabilities(self, ids: np.ndarray) -> np.ndarray:
        """(C,) of a text; of no word, those of the unknown one."""
        ids = ids if len(ids) else np.array([UNK_ID])
        output = self.model(torch.from_numpy(ids)[None], torch.tensor([len(ids)]))
        found: np.ndarray = output.log_probs[0].double().exp().numpy()
        return found[: self.model.config.n_classes]

    def says(self, units: torch.Tensor) -> np.ndarray:
        """(n, D) -> (n, C) what units say alone."""
        norm = self.model.level_norm
        log_votes = self.model.classifier(units if norm is None else norm(units))
        found: np.ndarray = log_votes.double().exp().numpy()
        return found[:, : self.model.config.n_classes]

    def reference(self, ids: np.ndarray) -> dict[str, Any]:
        """A fast explanation in torch, by plain loops."""
        model, n = self.model, len(ids)
        output = model(torch.from_numpy(ids)[None], torch.tensor([n]), keep_units=True)
        pyramid, base = output.pyramid, self.probabilities(ids[:0])
        p = self.probabilities(ids)
        votes = output.level_log_probs[0, :, : len(p)].double().exp().numpy()
        beliefs = output.log_beliefs[0].double().exp().numpy()
        words = []
        for i in range(n):
            alone = self.probabilities(ids[i : i + 1]) - base
            after = self.probabilities(ids[: i + 1]) - self.probabilities(ids[:i])
            before = self.probabilities(ids[i:]) - self.probabilities(ids[i + 1 :])
            words.append((alone + after + before) / 3)
        scores = filled_up(np.array(words), p - base)
        unit_scores = [scores]
        for t, units in enumerate(pyramid.units[1:], start=1):
            shares = np.full(len(units), 1 / len(units))
            if model.config.pooling == "max":
                owned = (units - units.max(dim=0).values + TIE_MARGIN).clamp(min=0)
                shares = (owned / owned.sum(dim=0)).mean(dim=1).numpy()
            raw = beliefs[t] * shares[:, None] * (self.says(units) - base)
            unit_scores.append(filled_up(raw, beliefs[t] * (votes[t] - base)))
        return {
            "probabilities": p,
            "base": base,
            "beliefs": beliefs,
            "level_probabilities": votes,
            "gates": [gates.mean(dim=2).numpy() for gates in pyramid.gates],
            "unit_scores": unit_scores,
            "words": scores,
        }


@pytest.fixture(scope="session")
def make_twin() -> Callable[..., Twin]:
    return Twin


@pytest.fixture(scope="session")
def twin() -> Twin:
    return Twin()


@pytest.fixture(scope="session")
def predictor() -> Predictor:
    """A model that knows good from bad, and nothing else that tells reviews apart."""
    nouns, good, bad = ("film", "plot", "cast"), ("good", "fine"), ("awful", "dull")
    frames = ("the {0} was {1}", "a {1} {0}", "a {1} {0} and the plot")
    pairs = [(noun, word) for noun in nouns for word in good + bad]
    texts = [frame.format(*pair) for frame in frames for pair in pairs] * 3
    labels = ["pos" if word in good else "neg" for _ in frames for _, word in pairs] * 3
    settings = {"hidden_size": 8, "classifier_size": 8, "vector_size": 8, "max_words": 30}
    # Which words a model this small decides by is chance; of this recipe it is known.
    recipe = {"gate_groups": 1, "level_loss": 0.0, "average": 0.0, "table_rate": 1.0}
    recipe |= {"penalty": 1e-4, "word_dropout": 0.1, "learning_rate": 0.02}
    clf = AdaSentClassifier(**settings, **recipe, epochs=16, batch_size=20)
    clf.fit(texts, labels)
    return Predictor(Network(*clf._weights()), clf.encoder_, clf.classes_, clf.training_)


@pytest.fixture(scope="session")
def explanation(predictor: Predictor) -> Explanation:
    return explain(predictor, "a good film and the plot was awful")


@pytest.fixture(params=["numpy", "numba"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Plain numpy, or numba's passes for every size of call."""
    if request.param == "numpy":
        monkeypatch.setattr("adasent.runtime.climb.Backend.passes", lambda *_: NUMPY)
    else:
        for needed in ("numba", "scipy"):
            pytest.importorskip(needed)  # once they are imported, they are used
    name: str = request.param
    return name
