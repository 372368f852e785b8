"""The file of an exported model: what it says of itself, what is refused, and how it is written."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import adasent
from adasent.errors import ConfigError, MissingDependencyError
from adasent.estimators.predictor import Predictor
from adasent.export import onnx_file
from adasent.export.onnx_file import export_onnx
from adasent.runtime.network import Network
from adasent.text.encoder import TextEncoder
from adasent.text.tokenize import words
from adasent.text.vocabulary import Vocabulary
from adasent.version import __version__
from network_pairs import WORDS, Pair
from onnx_cases import Exported


def test_it_says_what_a_user_has_to_know(exported: Exported) -> None:
    about = dict(exported.about)
    vocabulary = (exported.path.parent / "model" / "vocabulary.json").read_bytes()
    assert about == {
        "adasent_version": __version__,
        "classes": '["class 0", "class 1", "class 2"]',
        "multilabel": "false",
        "max_height": "null",
        "tokenizer": "words",
        "max_words": "30",
        "n_words": "12",
        "vocabulary_sha256": hashlib.sha256(vocabulary).hexdigest(),
    }


def test_thresholds_of_several_labels(make_exported: Callable[..., Exported]) -> None:
    about = make_exported(multilabel=True, max_height=4).about
    assert json.loads(about["thresholds"]) == [0.5, 0.5, 0.5]
    assert (about["multilabel"], about["max_height"]) == ("true", "4")


def test_a_model_in_memory_is_exported_as_its_folder(tmp_path: Path) -> None:
    predictor = adasent.load(Pair().save(tmp_path / "model"))
    export_onnx(predictor, tmp_path / "memory.onnx")
    export_onnx(tmp_path / "model", tmp_path / "folder.onnx")
    assert (tmp_path / "memory.onnx").read_bytes() == (tmp_path / "folder.onnx").read_bytes()


def test_a_tokenizer_of_ones_own_is_only_named(tmp_path: Path) -> None:
    folder = Pair().save(tmp_path / "model", tokenizer="custom")
    one = tmp_path / "own.onnx"
    assert export_onnx(folder, one) == [one]
    with pytest.raises(ConfigError, match="tokenizer of its own, which JSON cannot hold"):
        export_onnx(folder, tmp_path / "other.onnx", texts=True)
    assert not (tmp_path / "other.onnx").exists()


def test_other_systems_are_refused(tmp_path: Path) -> None:
    config = json.dumps({"system": "cbow"})
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(config)
    with pytest.raises(ConfigError, match=r"expected a model of AdaSent.* holds one of cbow"):
        export_onnx(tmp_path / "model", tmp_path / "model.onnx")


class Contextual(TextEncoder):
    """As if words had other vectors in other texts."""

    contextual = True


def test_a_model_on_an_encoder_is_refused(tmp_path: Path) -> None:
    pair = Pair()
    encoder = Contextual(words, Vocabulary(WORDS, n_training=8), 30)
    predictor = Predictor(pair.network, encoder, np.arange(3))
    with pytest.raises(ConfigError, match=r"stands on an encoder, .* adasent teach makes one"):
        export_onnx(predictor, tmp_path / "model.onnx")


def test_a_folder_with_an_encoder_is_refused_unopened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Pair(n_trained=2, n_fixed=0).save(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    hidden = {"name": "x", "sha256": "0" * 64, "inside": True, "tuned": False, "scale": 1.0}
    (folder / "config.json").write_text(json.dumps(config | {"format": 2, "encoder": hidden}))
    (folder / "vocabulary.json").write_text('["<pad>", "<unk>"]')
    with pytest.raises(ConfigError, match="stands on an encoder"):
        export_onnx(folder, tmp_path / "model.onnx")


@pytest.mark.parametrize("limit", [100, 3000])  # less than the words; less than the graph
def test_what_does_not_fit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(onnx_file, "MOST_BYTES", limit)
    with pytest.raises(ConfigError, match=f"at most {limit:,} bytes, and the model takes"):
        export_onnx(Pair().save(tmp_path / "model"), tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()


def test_without_onnx_the_command_that_brings_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'adasent\[onnx\]'"):
        export_onnx(Pair().save(tmp_path / "model"), tmp_path / "model.onnx")


def test_a_table_that_was_not_rounded_is_kept_whole(tmp_path: Path) -> None:
    pair = Pair()  # its vectors are not those that a folder can hold
    encoder = TextEncoder(words, Vocabulary(WORDS, n_training=8), 30)
    predictor = Predictor(Network(pair.config, pair.table, pair.tensors), encoder, np.arange(3))
    export_onnx(predictor, tmp_path / "model.onnx")
    one = Exported.__new__(Exported)
    one.open(tmp_path / "model.onnx")
    ids = [list(range(12)), [3, 11]]
    expected = pair.network.probabilities([np.array(row) for row in ids])
    np.testing.assert_allclose(one.run(ids)["probabilities"], expected, rtol=0, atol=1e-6)
