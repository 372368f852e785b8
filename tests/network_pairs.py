"""Random networks, in torch and in numpy, and one of them saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from adasent.runtime.climb import NUMPY
from adasent.runtime.network import Network
from adasent.saving.model import SavedModel, write_model
from adasent.saving.word_table import WordTable
from adasent.systems.adasent import AdaSent
from adasent.systems.config import AdaSentConfig
from adasent.text.batch import pad
from adasent.text.vocabulary import Vocabulary

WORDS = ["a", "good", "bad", "film", "the", "plot", "was", "and", "dull", "cast"]


class Pair:
    """The same random network twice."""

    def __init__(self, **settings: Any) -> None:
        sizes = {"n_trained": 8, "n_fixed": 4, "n_classes": 3, "vector_size": 5, "gate_size": 4}
        config = AdaSentConfig(**(sizes | {"hidden_size": 7} | settings))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model = AdaSent(config).eval()
            model.embedding.set_vectors(torch.randn(config.n_trained + config.n_fixed, 5))
            with torch.no_grad():  # away from the small gates of a fresh network
                for parameter in model.composition.parameters():
                    parameter += 0.3 * torch.randn_like(parameter)
        tensors = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
        self.config, self.model = config, model
        self.table = WordTable.wide(
            tensors.pop("embedding.trained"), tensors.pop("embedding.fixed")
        )
        self.tensors = tensors
        self.network = Network(config, self.table, tensors)

    @torch.no_grad()
    def torch_output(self, texts: list[np.ndarray], **more: bool) -> Any:
        batch = pad(texts)
        return self.model(torch.from_numpy(batch.ids), torch.from_numpy(batch.lengths), **more)

    def torch_probabilities(self, texts: list[np.ndarray]) -> np.ndarray:
        found: np.ndarray = self.torch_output(texts).log_probs.double().exp().numpy()
        return found

    def save(self, folder: Path, tokenizer: str = "words") -> Path:
        vocabulary = Vocabulary(WORDS, n_training=self.config.n_trained)
        classes = np.array([f"class {i}" for i in range(self.config.n_classes)])
        saved = SavedModel(
            "adasent",
            self.config.to_dict(),
            tokenizer,
            30,
            classes,
            vocabulary.to_list(),
            self.table.to_tensors() | self.tensors,
            {"seed": 1},
            thresholds=np.full(len(classes), 0.5) if self.config.multilabel else None,
        )
        write_model(folder, saved)
        return folder


@pytest.fixture(scope="session")
def make_pair() -> Callable[..., Pair]:
    return Pair


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model that knows ``WORDS``."""
    return Pair().save(tmp_path_factory.mktemp("runtime") / "model")


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
