"""Random networks in torch and numpy, and a trained model that explains reviews."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from adasent import AdaSentClassifier, Predictor
from adasent.explain import explain
from adasent.explain.credit import TIE_MARGIN
from adasent.explain.deletion import MAX_SCALE, MIN_SCALE, SCALE_SMOOTHING
from adasent.explain.explanation import Explanation
from adasent.explain.mixture import KINK_WIDTH
from adasent.nn import consensus
from adasent.runtime.climb import NUMPY
from adasent.runtime.network import Network
from adasent.saving.word_table import WordTable
from adasent.systems.adasent import AdaSent
from adasent.systems.config import AdaSentConfig
from adasent.text.encoder import TextEncoder
from adasent.text.tokenize import Tokenizer, words
from adasent.text.vocabulary import UNK_ID, Vocabulary

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
        self.predictor = Predictor(Network(config, table, tensors), encoder, classes)

    def alone(self, ids: np.ndarray) -> np.ndarray:
        """(n, C) probabilities of texts of one word."""
        output = self.model(torch.from_numpy(ids)[:, None], torch.ones(len(ids), dtype=torch.long))
        found: np.ndarray = output.log_probs.double().exp().numpy()
        return found

    def probabilities(self, ids: np.ndarray) -> np.ndarray:
        """(C,) of a text."""
        output = self.model(torch.from_numpy(ids)[None], torch.tensor([len(ids)]))
        found: np.ndarray = output.log_probs[0].double().exp().numpy()
        return found

    def vote(self, pooled: torch.Tensor) -> torch.Tensor:
        """The classifier, with the derivative of its rectifier that explanations take."""
        classifier = self.model.classifier
        features = pooled
        if classifier.hidden is not None:
            hidden = classifier.hidden(pooled)
            slope = (hidden.detach() / float(KINK_WIDTH) + 0.5).clamp(0, 1)
            features = torch.relu(hidden).detach() + slope * (hidden - hidden.detach())
        return torch.log_softmax(classifier.out(features), dim=-1)

    def reference(self, ids: np.ndarray) -> dict[str, Any]:
        """An explanation in torch, by autograd and a plain loop."""
        model, n = self.model, len(ids)
        output = model(torch.from_numpy(ids)[None], torch.tensor([n]), keep_units=True)
        pyramid = output.pyramid
        pooled = pyramid.levels.data.clone().requires_grad_()
        n_levels = len(pooled)
        exists = torch.ones(1, n_levels, dtype=torch.bool)
        taken = pooled if model.level_norm is None else model.level_norm(pooled)
        p = consensus(model.level_gate(taken[None], exists), self.vote(taken)[None]).exp()
        slopes = [torch.autograd.grad(p[0, c], pooled, retain_graph=True)[0] for c in range(3)]
        mean = pyramid.units[0].mean(dim=0)
        arriving = [torch.zeros(n - t, 3, len(mean)) for t in range(n_levels)]
        unit_scores = []
        for t in range(n_levels - 1, -1, -1):
            units = pyramid.units[t]
            owned = torch.ones_like(units)
            if model.config.pooling == "max":
                owned = (units - pooled[t].detach() + TIE_MARGIN).clamp(min=0)
            owned = owned / owned.sum(dim=0)
            own = torch.stack([owned * slope[t] for slope in slopes], dim=1)  # (n, C, D)
            unit_scores.append((own * (units - mean)[:, None]).sum(dim=-1))
            arriving[t] += own
            if t:
                n_repeats = len(mean) // model.config.gate_groups
                gates = pyramid.gates[t - 1].repeat(1, 1, n_repeats)[:, :, None]  # (n, 3, 1, D)
                left, right, composed = gates.unbind(1)
                arriving[t - 1][:-1] += (left + composed / 2) * arriving[t]
                arriving[t - 1][1:] += (right + composed / 2) * arriving[t]
        in_text = (arriving[0] * (pyramid.units[0] - mean)[:, None]).sum(dim=-1).numpy()
        alone = self.alone(ids) - self.alone(np.array([UNK_ID]))
        share = min(1, 1.5 / n)
        by_unit = [alone]
        if n > 1:
            p = self.probabilities(ids)
            ends = np.stack([p - self.probabilities(ids[1:]), p - self.probabilities(ids[:-1])])
            exact, estimated = np.abs(ends).sum(), np.abs(in_text[[0, -1]]).sum()
            ratio = (exact + SCALE_SMOOTHING) / (estimated + SCALE_SMOOTHING)
            scale = np.clip(ratio, MIN_SCALE, MAX_SCALE)
            scale = min(scale, 1 / np.abs(in_text).max())
            by_unit = [scale * scores.numpy() for scores in reversed(unit_scores)]
            in_text *= scale
            in_text[[0, -1]] = ends
        return {
            "probabilities": output.log_probs[0].exp().numpy(),
            "beliefs": output.log_beliefs[0].exp().numpy(),
            "level_probabilities": output.level_log_probs[0].exp().numpy(),
            "gates": [gates.mean(dim=2).numpy() for gates in pyramid.gates],
            "unit_scores": by_unit,
            "words": share * alone + (1 - share) * in_text,
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
