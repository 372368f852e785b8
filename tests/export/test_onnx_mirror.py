"""A thousand texts of each of the paper's sets: the graph answers as adasent does, from strings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent.data import load
from adasent.saving.adasent import tensor_shapes
from adasent.saving.model import SavedModel, write_model
from adasent.saving.word_table import WordTable, round_to_half
from adasent.systems.config import AdaSentConfig
from adasent.text.tokenize import words
from adasent.text.vocabulary import Vocabulary
from examples.onnx_predict import Reader, classify
from onnx_cases import TOLERANCE, Exported, compare

SETS = ("MR", "CR", "SUBJ", "MPQA", "TREC")
N_TEXTS, N_TRACED = 1000, 100


def random_model(folder: Path, texts: list[str], n_classes: int, **settings: Any) -> Path:
    """A network with random weights that knows every word which is in two texts."""
    vocabulary = Vocabulary.build(map(words, texts), min_count=2)
    sizes = {"n_trained": len(vocabulary), "n_classes": n_classes, "vector_size": 20}
    config = AdaSentConfig(**(sizes | {"hidden_size": 20} | settings))
    rng = np.random.default_rng(0)
    tensors = {
        name: rng.normal(scale=shape[-1] ** -0.5, size=shape).astype(np.float32)
        for name, shape in tensor_shapes(config).items()
    }
    trained, fixed = tensors.pop("embedding.trained"), tensors.pop("embedding.fixed")
    table = WordTable.wide(round_to_half(4 * trained), fixed)
    classes = np.array([f"class {i}" for i in range(n_classes)])
    write_model(
        folder,
        SavedModel(
            "adasent",
            config.to_dict(),
            "words",
            2000,
            classes,
            vocabulary.to_list(),
            table.to_tensors() | tensors,
            thresholds=np.full(n_classes, 0.5) if config.multilabel else None,
        ),
    )
    return folder


def check(folder: Path, name: str, n_traced: int, **settings: Any) -> None:
    """Probabilities of all texts, and every number of some."""
    corpus = load(name)
    chosen = np.random.default_rng(0).permutation(len(corpus.texts))[:N_TEXTS]
    texts = [corpus.texts[i] for i in chosen]
    one = Exported(random_model(folder, texts, len(set(corpus.labels)), **settings), texts=True)
    read = Reader(one.path.with_suffix(".tokenizer.json"))
    ids = [read(text) for text in texts]
    found, expected = classify(one.session, ids), one.predictor.predict_proba(texts)
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)
    assert len(np.unique(expected.argmax(axis=1))) > 1 or name == "TREC"
    for i in range(n_traced):
        compare(one.run([ids[i]]), one.predictor.trace([texts[i]]))


@pytest.mark.mirror
@pytest.mark.parametrize("name", SETS)
def test_a_thousand_texts(mirror: Path, tmp_path: Path, name: str) -> None:
    check(tmp_path / "model", name, N_TRACED, gate_groups=20, pooling="mean")


@pytest.mark.mirror
@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    "settings",
    [
        {"hidden_size": 100, "gate_groups": 100, "pooling": "mean"},
        {"hidden_size": 100},
        {"hidden_size": 50, "local_gate": "mlp", "level_gate": "mlp", "level_norm": False},
        {"hidden_size": 60, "gate_groups": 15, "activation": "relu", "classifier_size": 0},
        {"multilabel": True, "max_height": 8},
    ],
    ids=str,
)
def test_every_number_of_a_thousand_texts(
    mirror: Path, tmp_path: Path, name: str, settings: dict[str, Any]
) -> None:
    check(tmp_path / "model", name, N_TEXTS, **settings)
