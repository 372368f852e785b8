"""A thousand texts of each of the paper's sets: the graph answers as adasent does, from strings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent.data import load
from adasent.estimators.starter import starter_folder
from adasent.saving.adasent import tensor_shapes
from adasent.saving.model import SavedModel, write_model
from adasent.saving.word_table import WordTable, round_to_half
from adasent.systems.config import AdaSentConfig
from adasent.text.tokenize import words
from adasent.text.vocabulary import Vocabulary
from examples.onnx_predict import Reader, classify
from onnx_cases import TOLERANCE, Exported, compare

SETS = ("MR", "CR", "SUBJ", "MPQA", "TREC")
#: Gates are shares by sums in the tens. Those of numpy and numba, too, are further apart than 1e-5.
OF_GATES = 1e-4
N_TEXTS, N_TRACED = 1000, 40


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


def check(folder: Path, path: Path, texts: list[str], n_traced: int) -> None:
    """Probabilities of all texts, and every number of some."""
    one = Exported(folder, path, texts=True)
    read = Reader(one.path.with_suffix(".tokenizer.json"))
    ids = [read(text) for text in texts]
    found, expected = classify(one.session, ids), one.predictor.predict_proba(texts)
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)
    assert expected.std(axis=0).max() > 100 * TOLERANCE  # the texts are not all the same to it
    for i in range(n_traced):
        compare(one.run([ids[i]]), one.predictor.trace([texts[i]]), OF_GATES)


def some_texts(name: str) -> tuple[list[str], int]:
    """Of a set, and how many classes it has."""
    corpus = load(name)
    chosen = np.random.default_rng(0).permutation(len(corpus.texts))[:N_TEXTS]
    return [corpus.texts[i] for i in chosen], len(set(corpus.labels))


@pytest.mark.mirror
@pytest.mark.parametrize("name", SETS)
def test_a_thousand_texts_of_the_starter(mirror: Path, tmp_path: Path, name: str) -> None:
    check(starter_folder(), tmp_path / "starter.onnx", some_texts(name)[0], N_TRACED)


@pytest.mark.mirror
@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_every_number_of_the_starter(mirror: Path, tmp_path: Path, name: str) -> None:
    check(starter_folder(), tmp_path / "starter.onnx", some_texts(name)[0], N_TEXTS)


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
    texts, n_classes = some_texts(name)
    folder = random_model(tmp_path / "model", texts, n_classes, **settings)
    check(folder, tmp_path / "model.onnx", texts, N_TEXTS)
