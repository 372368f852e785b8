"""Which system a folder is of, and what is done where it does not say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from adasent import Predictor
from adasent.cli.models import open_adasent
from adasent.errors import ConfigError, ModelFormatError
from adasent.estimators.labelling import open_model

Run = Callable[..., Result]


def test_adasent_is_opened_without_its_estimator(model: Path) -> None:
    assert isinstance(open_model(model), Predictor)
    assert isinstance(open_adasent(model, "adasent explain"), Predictor)


def test_a_command_that_needs_the_pyramid_says_so(
    run: Run, reviews_csv: Path, tmp_path: Path
) -> None:
    out = tmp_path / "m"
    assert run("train", reviews_csv, "--out", out, "--quiet", "--system", "mnb").exit_code == 0
    with pytest.raises(ConfigError, match=r"adasent explain needs a model of AdaSent, and .* mnb"):
        open_adasent(out, "adasent explain")


@pytest.mark.parametrize(
    "header",
    [
        "[" * 100_000,
        "[]",
        '{"format": 1, "system": ["mnb"]}',
        json.dumps({"format": 1, "system": "\x1b[31m" * 9999}),
        '{"format": 1}',
        "{",
    ],
)
def test_strange_headers_are_left_to_the_loader(tmp_path: Path, header: str) -> None:
    (tmp_path / "config.json").write_text(header, encoding="utf-8")
    with pytest.raises(ModelFormatError) as error:
        open_model(tmp_path)
    assert "\x1b" not in str(error.value)
    assert len(str(error.value)) < 500


def test_a_device_of_its_own(model: Path, tmp_path: Path, run: Run, reviews_csv: Path) -> None:
    labeller = open_model(model, "cpu")
    assert labeller.device == "cpu"  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="such as cpu, cuda or cuda:1; got 'gpu'"):
        open_model(model, "gpu")
    out = tmp_path / "m"
    assert run("train", reviews_csv, "--out", out, "--quiet", "--system", "mnb").exit_code == 0
    with pytest.raises(ConfigError, match="mnb has no network to put there"):
        open_model(out, "cuda")


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelFormatError, match="is not a folder"):
        open_model(tmp_path / "none")


def test_a_model_named_as_one_of_another_system(model: Path, tmp_path: Path) -> None:
    header = json.loads((model / "config.json").read_text(encoding="ascii")) | {"system": "nbsvm"}
    (tmp_path / "config.json").write_text(json.dumps(header), encoding="ascii")
    with pytest.raises(ModelFormatError, match="settings"):
        open_model(tmp_path)
