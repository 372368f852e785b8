"""A saved model comes back exactly; a damaged or hostile folder is refused in one line."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

import adasent
from adasent import AdaSentClassifier
from adasent.errors import ConfigError, ModelFormatError
from adasent.saving.adasent import read_adasent, tensor_shapes
from adasent.saving.model import MAX_BYTES, SavedModel, write_model
from adasent.saving.word_table import WordTable
from adasent.systems.config import AdaSentConfig
from adasent.text.vocabulary import Vocabulary
from adasent.vectors.words import WordVectors

Reviews = tuple[list[str], list[str]]
CONFIG = AdaSentConfig(n_trained=5, n_fixed=2, n_classes=2, vector_size=3, hidden_size=4)
WORDS = ["good", "bad", "film", "\ud800", "zebra"]


def make_saved(config: AdaSentConfig = CONFIG, classes: Any = ("neg", "pos")) -> SavedModel:
    rng = np.random.default_rng(0)
    tensors = {
        name: rng.normal(size=shape).astype(np.float32)
        for name, shape in tensor_shapes(config).items()
    }
    # Values that eight bits hold: rounding is the estimator's task, and tested there.
    steps = rng.integers(-127, 128, size=tensors.pop("embedding.fixed").shape)
    table = WordTable.wide(tensors.pop("embedding.trained"), (steps / 64).astype(np.float32))
    return SavedModel(
        "adasent",
        config.to_dict(),
        "words",
        2000,
        np.array(classes),
        Vocabulary(WORDS, n_training=config.n_trained).to_list(),
        table.to_tensors() | tensors,
        {"seed": 1},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_model(tmp_path / "model", make_saved())
    return tmp_path / "model"


def refuse(folder: Path, message: str) -> None:
    """The folder is refused with one line, by the reader, the runtime and the estimator."""
    for load in (read_adasent, adasent.load, AdaSentClassifier.load):
        with pytest.raises(ModelFormatError, match=message) as caught:
            load(folder)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 1000


# -- round trips ---------------------------------------------------------------------------------


def test_round_trip(folder: Path) -> None:
    expected, found = make_saved(), read_adasent(folder)
    assert found.config == CONFIG
    assert found.vocabulary.to_list() == expected.vocabulary
    assert (found.saved.tokenizer, found.saved.max_words) == ("words", 2000)
    assert found.saved.training == {"seed": 1}
    assert found.saved.tensors.keys() == expected.tensors.keys()
    for name, tensor in expected.tensors.items():
        np.testing.assert_array_equal(found.saved.tensors[name], tensor)


@pytest.mark.parametrize(
    "classes", [["a", "b"], [3, -7], [0.0, 1.0], [False, True], ["é", "\ud800"], [2**62, 1]]
)
def test_labels_of_every_kind(tmp_path: Path, classes: list[Any]) -> None:
    write_model(tmp_path, make_saved(classes=classes))
    found = read_adasent(tmp_path).saved.classes
    assert found.tolist() == classes
    assert [type(label) for label in found.tolist()] == [type(label) for label in classes]


def test_labels_that_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ModelFormatError, match="must all be str, int, float or bool"):
        write_model(tmp_path / "model", make_saved(classes=np.array(["a", 1], dtype=object)))
    assert not (tmp_path / "model").exists()


def test_saving_replaces_a_model_and_leaves_nothing_behind(folder: Path) -> None:
    write_model(folder, make_saved(classes=[1, 2]))
    assert read_adasent(folder).saved.classes.tolist() == [1, 2]
    names = {"config.json", "model.safetensors", "training.json", "vocabulary.json"}
    assert {path.name for path in folder.iterdir()} == names


def test_saving_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("mine")
    with pytest.raises(ModelFormatError, match="a file of that name is in the way"):
        write_model(tmp_path / "model", make_saved())
    assert (tmp_path / "model").read_text() == "mine"


def test_all_files_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_model(tmp_path / "model", make_saved())
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "model").iterdir()}
    assert modes == {0o640}


def test_json_is_plain_ascii(folder: Path) -> None:
    for name in ("config.json", "vocabulary.json", "training.json"):
        assert (folder / name).read_bytes().isascii()


# -- the estimator -------------------------------------------------------------------------------

VARIANTS: list[dict[str, Any]] = [
    {},
    {
        "pooling": "mean",
        "activation": "relu",
        "local_gate": "mlp",
        "level_gate": "mlp",
        "level_norm": False,
    },
    {"classifier_size": 0, "copy_bias": 0.0, "tokenizer": "kim", "max_words": 5},
    {"fine_tune": False, "optimizer": "adagrad", "learning_rate": 0.1, "min_count": 2},
]


@pytest.mark.filterwarnings("ignore:of .* texts?:adasent.errors.AdaSentWarning")
@pytest.mark.parametrize("settings", VARIANTS)
def test_loaded_model_predicts_the_same(
    reviews: Reviews, tmp_path: Path, settings: dict[str, Any]
) -> None:
    rng = np.random.default_rng(0)
    vectors = WordVectors(["film", "excellent", "plot"], rng.normal(size=(3, 6)))
    sizes = {"hidden_size": 7, "gate_size": 3, "classifier_size": 6, "epochs": 2}
    clf = AdaSentClassifier(**(sizes | {"vectors": vectors} | settings)).fit(*reviews)
    clf.save(tmp_path / "model")
    loaded = AdaSentClassifier.load(tmp_path / "model")
    texts = [*reviews[0], "an excellent film", "", "isn't it?"]
    np.testing.assert_array_equal(loaded.predict_proba(texts), clf.predict_proba(texts))
    assert loaded.predict(texts).tolist() == clf.predict(texts).tolist()
    assert loaded.history_.rows == clf.history_.rows
    assert loaded.history_.best_epoch == clf.history_.best_epoch
    for name in (*settings, *sizes):
        if name != "min_count":  # of no use after training
            assert getattr(loaded, name) == getattr(clf, name), name


def test_saving_a_loaded_model_gives_the_same_files(reviews: Reviews, tmp_path: Path) -> None:
    clf = AdaSentClassifier(hidden_size=5, vector_size=5, epochs=1).fit(*reviews)
    clf.save(tmp_path / "one")
    AdaSentClassifier.load(tmp_path / "one").save(tmp_path / "two")
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_custom_tokenizer_is_asked_for(reviews: Reviews, tmp_path: Path) -> None:
    clf = AdaSentClassifier(tokenizer=str.split, hidden_size=5, vector_size=5, epochs=1)
    clf.fit(*reviews).save(tmp_path)
    with pytest.raises(ConfigError, match=r"tokenizer of its own; pass it: .*tokenizer=\.\.\."):
        AdaSentClassifier.load(tmp_path)
    loaded = AdaSentClassifier.load(tmp_path, tokenizer=str.split)
    np.testing.assert_array_equal(loaded.predict_proba(reviews[0]), clf.predict_proba(reviews[0]))


def test_word_table_is_stored_small_and_without_loss(reviews: Reviews, tmp_path: Path) -> None:
    vectors = WordVectors(["rare", "odd"], np.random.default_rng(0).normal(size=(2, 5)))
    clf = AdaSentClassifier(hidden_size=5, vectors=vectors, epochs=1).fit(*reviews)
    clf.save(tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    assert stored["embedding.trained"].dtype == np.float16
    assert stored["embedding.fixed"].dtype == np.int8
    table = clf.model_.embedding
    np.testing.assert_array_equal(stored["embedding.trained"], table.trained.detach().numpy())
    fixed = stored["embedding.fixed"] * stored["embedding.fixed_scale"][:, None]
    np.testing.assert_array_equal(fixed, table.fixed.numpy())


def test_vectors_beyond_half_precision_stay_whole(reviews: Reviews, tmp_path: Path) -> None:
    clf = AdaSentClassifier(hidden_size=5, vector_size=5, epochs=1).fit(*reviews)
    with torch.no_grad():
        clf.model_.embedding.trained[2, 0] = 1e6
    clf.save(tmp_path)
    assert AdaSentClassifier.load(tmp_path).model_.embedding.trained[2, 0] == 1e6


# -- damage --------------------------------------------------------------------------------------


def test_no_folder(tmp_path: Path) -> None:
    refuse(tmp_path / "nowhere", "expected a model folder")
    (tmp_path / "file").write_text("{}")
    refuse(tmp_path / "file", "is not a folder")


@pytest.mark.parametrize("name", list(MAX_BYTES))
def test_missing_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    refuse(folder, f"{name} is missing")


@pytest.mark.parametrize("name", list(MAX_BYTES))
def test_file_over_the_limit(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MAX_BYTES, name, 10)
    refuse(folder, "bytes, expected at most 10")


@pytest.mark.parametrize("name", list(MAX_BYTES))
def test_link_out_of_the_folder(folder: Path, name: str) -> None:
    (folder / name).rename(folder.parent / name)
    (folder / name).symlink_to(folder.parent / name)
    refuse(folder, "not a plain file of this folder")


@pytest.mark.parametrize("name", list(MAX_BYTES))
def test_pipe_in_place_of_a_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)  # reading it would wait for ever
    refuse(folder, "not a plain file of this folder")


@pytest.mark.parametrize("name", list(MAX_BYTES))
def test_folder_in_place_of_a_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    (folder / name).mkdir()
    refuse(folder, "not a plain file of this folder")


def test_link_to_itself(folder: Path) -> None:
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to(folder / "config.json")
    refuse(folder, "config.json is missing")


def test_link_within_the_folder_is_fine(folder: Path) -> None:
    (folder / "config.json").rename(folder / "real.json")
    (folder / "config.json").symlink_to("real.json")
    assert read_adasent(folder).config == CONFIG


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "training.json"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"format": 1',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b"9" * 5000,
        b"null",
    ],
)
def test_broken_json(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    refuse(folder, f"{name}.*(is not JSON|expected a JSON object|expected a list)")


class Touch:
    """Unpickling this would create a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("name", list(MAX_BYTES))
def test_pickle_in_place_of_a_file(folder: Path, name: str) -> None:
    trap = folder.parent / "executed"
    (folder / name).write_bytes(pickle.dumps(Touch(trap)))
    refuse(folder, name)
    assert not trap.exists()


def test_torch_file_in_place_of_safetensors(folder: Path) -> None:
    torch.save({"a": torch.zeros(2)}, folder / "model.safetensors")
    refuse(folder, "not a whole safetensors file")


def damage_tensors(change: Callable[[dict[str, np.ndarray]], None]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        tensors = load_file(path)
        change(tensors)
        save_file(tensors, path)

    return damage


def put(name: str, make: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    return damage_tensors(lambda tensors: tensors.update({name: make(tensors[name])}))


def with_value(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(tensor: np.ndarray) -> np.ndarray:
        tensor = tensor.copy()
        tensor.flat[-1] = value
        return tensor

    return change


TENSOR_DAMAGE: list[tuple[Callable[[Path], Any], str]] = [
    (lambda p: p.write_bytes(b""), "not a whole safetensors file"),
    (lambda p: p.write_bytes(p.read_bytes()[:-1]), "not a whole safetensors file"),
    (lambda p: p.write_bytes(p.read_bytes()[:50]), "not a whole safetensors file"),
    (lambda p: p.write_bytes(p.read_bytes() + b"\0"), "not a whole safetensors file"),
    (lambda p: p.write_bytes(b"\xff" * 8 + p.read_bytes()[8:]), "not a whole safetensors file"),
    (
        lambda p: p.write_bytes((2**40).to_bytes(8, "little") + b"{}"),
        "not a whole safetensors file",
    ),
    (lambda p: p.write_bytes((2).to_bytes(8, "little") + b"{}"), "tensors missing"),
    (damage_tensors(lambda t: t.pop("projection.weight")), "missing: 'projection.weight'; not"),
    (damage_tensors(lambda t: t.update(other=np.zeros(1))), "missing: none; not .*: 'other'"),
    (
        damage_tensors(lambda t: t.update({"x\ny" * 999: np.zeros(1)})),
        "tensors missing: none",
    ),
    (put("projection.weight", lambda t: t.T.copy()), r"should be \(4, 3\) .*, is \(3, 4\)"),
    (put("projection.weight", lambda t: t[None]), r"is \(1, 4, 3\)"),
    (put("projection.weight", lambda t: t.astype(np.float64)), "of F32, is .* of F64"),
    (put("projection.weight", lambda t: t.astype(np.float16)), "of F32, is .* of F16"),
    (put("embedding.fixed", lambda t: t.astype(np.int32)), "of I8, is .* of I32"),
    (put("classifier.out.bias", with_value(float("nan"))), "out.bias holds .* not finite"),
    (put("embedding.trained", with_value(float("inf"))), "trained holds .* not finite"),
    (put("embedding.fixed", lambda t: t.astype(np.float32)), "of I8, is .* of F32"),
    (put("embedding.fixed_scale", lambda t: t[:1]), r"should be \(2,\) .*, is \(1,\)"),
    (put("embedding.fixed_scale", with_value(float("nan"))), "fixed_scale holds .* not finite"),
    (put("embedding.fixed_scale", with_value(3e38)), "fixed_scale holds .* not finite"),
]


@pytest.mark.parametrize(("damage", "message"), TENSOR_DAMAGE)
def test_damaged_tensors(folder: Path, damage: Callable[[Path], Any], message: str) -> None:
    damage(folder / "model.safetensors")
    refuse(folder, message)


def edit(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    value = json.loads((folder / name).read_text())
    change(value)
    (folder / name).write_text(json.dumps(value))


CONFIG_DAMAGE: list[tuple[Callable[[Any], Any], str]] = [
    (lambda c: c.update(format=3), "expected format 1 or 2, got 3; it was written by another"),
    (lambda c: c.update(format="x" * 10**6), "expected format 1 or 2"),
    (lambda c: c.pop("format"), "expected format 1 or 2, got None"),
    (lambda c: c.update(format=2), "encoder' is missing"),
    (lambda c: c.pop("network"), "'network' is missing"),
    (lambda c: c.pop("system"), "'system' is missing"),
    (lambda c: c.pop("labels"), "'labels' is missing"),
    (lambda c: c.update(system="../../etc"), r"expected system 'adasent', got '\.\./\.\./etc'"),
    (lambda c: c.update(system={}), "expected system"),
    (lambda c: c.update(tokenizer="../words"), r"unknown tokenizer '\.\./words'"),
    (lambda c: c.update(tokenizer="os.system"), "unknown tokenizer"),
    (lambda c: c.update(tokenizer=["words"]), "unknown tokenizer"),
    (lambda c: c.update(max_words=0), "max_words must be"),
    (lambda c: c.update(max_words=True), "max_words must be"),
    (lambda c: c.update(max_words=1e3), "max_words must be"),
    (lambda c: c.update(network=[]), "expected network to be an object"),
    (lambda c: c.update(network=None), "expected network to be an object"),
    (lambda c: c["network"].update(hidden_size=10**9), "hidden_size must be .* to 4096"),
    (lambda c: c["network"].update(hidden_size=-4), "hidden_size must be"),
    (lambda c: c["network"].update(hidden_size=4.0), "hidden_size must not be a fraction"),
    (lambda c: c["network"].update(hidden_size=float("nan")), "hidden_size must not be"),
    (lambda c: c["network"].update(n_trained=float("inf")), "n_trained must not be"),
    (lambda c: c["network"].update(hidden_size="4"), "hidden_size must be"),
    (lambda c: c["network"].update(hidden_size=5), "should be"),
    (lambda c: c["network"].update(vector_size=10**9), "should be"),
    (lambda c: c["network"].update(n_fixed=10**12), "expected a list of 1000000000005 words"),
    (lambda c: c["network"].update(n_trained=4, n_fixed=3), "should be"),
    (lambda c: c["network"].update(n_classes=10**9), "2 labels for 1000000000 classes"),
    (lambda c: c["network"].update(copy_bias=float("nan")), "copy_bias must be"),
    (lambda c: c["network"].update(pooling="x" * 10**6), "pooling must be one of"),
    (lambda c: c["network"].update(pooling=["max"]), "pooling must be one of"),
    (lambda c: c["network"].update(surprise=1), "unknown setting 'surprise'"),
    (lambda c: c["network"].pop("n_trained"), "n_trained"),
    (lambda c: c["network"].update(local_gate="mlp"), "tensors missing"),
    (lambda c: c.update(labels=3), "config.json"),
    (lambda c: c["labels"].update(kind="object"), "labels of kind 'object' cannot be read"),
    (lambda c: c["labels"].update(kind=[]), "config.json"),
    (lambda c: c["labels"].update(values="ab"), "cannot be read"),
    (lambda c: c["labels"].update(values=[]), "cannot be read"),
    (lambda c: c["labels"].update(values=["a"]), "1 labels for 2 classes"),
    (lambda c: c["labels"].update(values=["a", "a"]), "not distinct"),
    (lambda c: c["labels"].update(values=["a", 1]), "not all of kind str"),
    (lambda c: c["labels"].update(values=[["a"], ["b"]]), "not all of kind str"),
    (lambda c: c.update(labels={"kind": "int", "values": [2**70, 1]}), "not all of kind int"),
    (lambda c: c.update(labels={"kind": "float", "values": [float("nan"), 1.0]}), "not .* finite"),
]


@pytest.mark.parametrize(("change", "message"), CONFIG_DAMAGE)
def test_hostile_configuration(folder: Path, change: Callable[[Any], Any], message: str) -> None:
    edit(folder, "config.json", change)
    refuse(folder, message)


VOCABULARY_DAMAGE: list[tuple[Callable[[Any], Any], str]] = [
    (lambda v: v.pop(), "expected a list of 7 words"),
    (lambda v: v.append("more"), "expected a list of 7 words"),
    (lambda v: v.__setitem__(3, v[2]), "distinct words"),
    (lambda v: v.__setitem__(3, "<unk>"), "distinct words"),
    (lambda v: v.__setitem__(3, 5), "expected strings only, got int at 3"),
    (lambda v: v.__setitem__(3, None), "expected strings only"),
    (lambda v: v.__setitem__(3, ["a"]), "expected strings only"),
    (lambda v: v.__setitem__(0, "pad"), "expected .*<pad>.* first"),
    (lambda v: v.clear(), "expected a list that is not empty"),
]


@pytest.mark.parametrize(("change", "message"), VOCABULARY_DAMAGE)
def test_hostile_vocabulary(folder: Path, change: Callable[[Any], Any], message: str) -> None:
    edit(folder, "vocabulary.json", change)
    refuse(folder, f"vocabulary.json.*{message}")


@pytest.mark.parametrize(
    "training",
    [
        {"settings": 3},
        {"settings": {"epochs": -1}},
        {"settings": {"epochs": {}}},
        {"history": []},
        {"history": {}},
        {"history": {"epochs": [3], "best_epoch": 0, "interrupted": False}},
    ],
)
def test_hostile_training_summary(folder: Path, training: dict[str, Any]) -> None:
    (folder / "training.json").write_text(json.dumps(training))
    with pytest.raises(ModelFormatError, match=r"training\.json: "):
        AdaSentClassifier.load(folder)


def test_training_summary_is_not_needed_to_predict(folder: Path) -> None:
    (folder / "training.json").write_text("{}")
    clf = AdaSentClassifier.load(folder)
    assert clf.predict_proba(["good film"]).shape == (1, 2)
    assert len(clf.history_) == 0


def test_moved_folder_still_loads(folder: Path, tmp_path: Path) -> None:
    moved = shutil.move(folder, tmp_path / "elsewhere")
    assert read_adasent(moved).config == CONFIG
