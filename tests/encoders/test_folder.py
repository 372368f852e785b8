"""The files of an encoder: which count, and what is said of those that do not fit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from adasent.encoders.folder import SavedEncoder, find_encoder, saved_folder
from adasent.encoders.transformer import TransformerEncoder
from adasent.errors import ConfigError, ModelFormatError
from adasent.text.tokenize import words


@pytest.fixture
def folder(encoder_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(encoder_folder, tmp_path / "encoder"))


def test_the_hash_is_of_what_counts(folder: Path, encoder_folder: Path) -> None:
    before = find_encoder(encoder_folder).sha256
    assert find_encoder(folder).sha256 == before
    (folder / "README.md").write_text("of no account")
    assert find_encoder(folder).sha256 == before
    (folder / "vocab.txt").write_text("[PAD]")
    assert find_encoder(folder).sha256 != before


def test_what_is_no_encoder_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no folder"):
        find_encoder(tmp_path / "nothing")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ConfigError, match=r"model.safetensors is not in .*pickled weights"):
        find_encoder(folder)
    (folder / "config.json").unlink()
    with pytest.raises(ConfigError, match=r"config.json is not in"):
        find_encoder(folder)


def test_a_name_that_is_not_in_the_cache_is_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ConfigError, match="hf download nobody/nothing"):
        find_encoder("nobody/nothing", fetch=False)


def test_a_name_is_found_in_the_cache_of_transformers(
    encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    kept = tmp_path / "models--somebody--tiny"
    snapshot = kept / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    for path in encoder_folder.iterdir():
        (snapshot / path.name).symlink_to(path)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("0" * 40)
    found = find_encoder("somebody/tiny", fetch=False)
    assert (found.name, found.path) == ("somebody/tiny", snapshot)
    assert found.sha256 == find_encoder(encoder_folder).sha256


def test_weights_that_do_not_fit_are_refused(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    with pytest.raises(ConfigError, match=r"its weights lack encoder\.layer\.2"):
        TransformerEncoder.open(find_encoder(folder), words, 10)
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "no such"}))
    with pytest.raises(ConfigError, match="transformers cannot read"):
        TransformerEncoder.open(find_encoder(folder), words, 10)
    (folder / "model.safetensors").write_bytes(b"nothing")
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="transformers cannot read"):
        TransformerEncoder.open(find_encoder(folder), words, 10)


def entry(folder: Path, **other: object) -> SavedEncoder:
    found = find_encoder(folder)
    values = {"inside": True, "tuned": False, "scale": 1.0} | other
    return SavedEncoder.from_dict({"name": found.name, "sha256": found.sha256} | values)


def test_a_saved_model_wants_the_encoder_it_was_trained_on(folder: Path) -> None:
    model = folder.parent
    assert saved_folder(entry(folder), model).path == folder
    assert saved_folder(entry(folder, inside=False), model).path == folder
    other = SavedEncoder(str(folder), "0" * 64, True, False, 1.0)
    with pytest.raises(ModelFormatError, match="was trained on an encoder with the hash 0000"):
        saved_folder(other, model)
    gone = SavedEncoder(str(model / "gone"), "0" * 64, False, False, 1.0)
    with pytest.raises(ModelFormatError, match="saved without its encoder"):
        saved_folder(gone, model)


def test_links_in_a_model_are_refused(folder: Path, encoder_folder: Path) -> None:
    expected = entry(folder)
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to(encoder_folder / "config.json")
    with pytest.raises(ModelFormatError, match="not a plain file"):
        saved_folder(expected, folder.parent)
    shutil.rmtree(folder)
    folder.symlink_to(encoder_folder)
    with pytest.raises(ModelFormatError, match="not a plain folder"):
        saved_folder(expected, folder.parent)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 3}, "encoder.name must be a string"),
        ({"inside": "yes"}, "must be True or False"),
        ({"scale": 0.0}, "encoder.scale must be"),
        ({"more": 1}, "unknown setting 'more'"),
    ],
)
def test_entries_that_make_no_sense(change: dict[str, object], message: str) -> None:
    values = {"name": "x", "sha256": "y", "inside": True, "tuned": False, "scale": 1.0}
    with pytest.raises(ConfigError, match=message):
        SavedEncoder.from_dict(values | change)
