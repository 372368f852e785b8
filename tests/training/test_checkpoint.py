"""A killed run goes on to the same result; a checkpoint that does not fit is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from adasent.errors import AdaSentWarning, CheckpointError
from adasent.systems.adasent import AdaSent
from adasent.training.callbacks import Callback
from adasent.training.checkpoint import Checkpoint, run_fingerprint
from adasent.training.config import TrainingConfig
from adasent.training.examples import Examples
from adasent.training.history import History
from adasent.training.run import Run
from training_cases import CPU, train_one

MakeModel = Callable[..., AdaSent]
MakeConfig = Callable[..., TrainingConfig]


class Kill(Callback):
    """Ends the run after an epoch as a signal would, or in the middle of the next one."""

    def __init__(self, epoch: int, error: BaseException, *, midway: bool = False) -> None:
        self.epoch, self.error, self.midway = epoch, error, midway

    def on_batch_end(self, epoch: int, n_done: int, loss: float | None) -> None:
        if self.midway and epoch == self.epoch + 1:
            raise self.error

    def on_epoch_end(self, epoch: int, row: Mapping[str, Any], is_best: bool) -> None:
        if not self.midway and epoch == self.epoch:
            raise self.error


def without_clock(history: History) -> list[dict[str, Any]]:
    clock = ("seconds", "examples_per_second")
    return [{k: v for k, v in row.items() if k not in clock} for row in history]


@pytest.mark.parametrize("midway", [False, True])
@pytest.mark.parametrize(("optimizer", "average"), [("adam", 0.5), ("adam", 0), ("adagrad", 9)])
def test_killed_run_resumes_to_the_same_result(
    make_model: MakeModel,
    make_config: MakeConfig,
    examples: Examples,
    tmp_path: Path,
    optimizer: str,
    average: float,
    midway: bool,
) -> None:
    dropout = {"word_dropout": 0.1, "dropout": 0.3}
    config = make_config(optimizer=optimizer, average=average, table_rate=0.3, epochs=4, **dropout)
    whole = make_model()
    expected = train_one(whole, examples, examples, config, seed=5)

    checkpoint = Checkpoint(tmp_path / "run" / "checkpoint.safetensors", "this run")
    kill = Kill(1, SystemExit(1), midway=midway)
    with pytest.raises(SystemExit):
        train_one(
            make_model(),
            examples,
            examples,
            config,
            seed=5,
            callbacks=[kill],
            checkpoint=checkpoint,
        )
    resumed = make_model()
    history = train_one(resumed, examples, examples, config, seed=5, checkpoint=checkpoint)

    assert without_clock(history) == without_clock(expected)
    assert history.best_epoch == expected.best_epoch
    for name, tensor in whole.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], tensor), name


def test_finished_run_is_read_back_without_training(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples, tmp_path: Path
) -> None:
    checkpoint = Checkpoint(tmp_path / "checkpoint.safetensors", "this run")
    first, second = make_model(), make_model()
    train_one(first, examples, None, make_config(epochs=2), seed=0, checkpoint=checkpoint)
    kill = Kill(-1, AssertionError("trained again"), midway=True)
    train_one(
        second,
        examples,
        None,
        make_config(epochs=2),
        seed=0,
        callbacks=[kill],
        checkpoint=checkpoint,
    )
    for name, tensor in first.state_dict().items():
        assert torch.equal(second.state_dict()[name], tensor), name


def test_nothing_there_and_clearing(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "none.safetensors", "this run")
    assert checkpoint.read() is None
    checkpoint.clear()


def written(make_model: MakeModel, config: TrainingConfig, examples: Examples, path: Path) -> None:
    train_one(make_model(), examples, None, config, seed=0, checkpoint=Checkpoint(path, "this run"))


def test_checkpoint_of_another_run(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint.safetensors"
    written(make_model, make_config(epochs=1), examples, path)
    with pytest.raises(CheckpointError, match="other data, settings or versions; delete it"):
        Checkpoint(path, "another run").read()


def test_fingerprint_tells_runs_apart(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    def fingerprint(**changes: Any) -> str:
        run = Run(make_model(), examples, None, make_config(), 0)
        return run_fingerprint(replace(run, **changes), CPU)

    other_weights = make_model()
    with torch.no_grad():
        other_weights.embedding.trained[3, 2] += 1e-6
    assert fingerprint() == fingerprint()
    others = [
        fingerprint(seed=1),
        fingerprint(config=make_config(penalty=0.5)),
        fingerprint(validation=examples),
        fingerprint(training=examples.take(np.arange(59))),
        fingerprint(model=other_weights),
    ]
    assert len({fingerprint(), *others}) == 6


def test_truncated_checkpoint(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint.safetensors"
    written(make_model, make_config(epochs=1), examples, path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match=r"cannot be read .*delete it to start anew"):
        Checkpoint(path, "this run").read()


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"fingerprint": "this run"},
        {"fingerprint": "this run", "history": "["},
        {"fingerprint": "this run", "history": "[]"},
        {"fingerprint": "this run", "history": "{}"},
    ],
)
def test_safetensors_file_that_is_no_checkpoint(
    tmp_path: Path, metadata: dict[str, str] | None
) -> None:
    path = tmp_path / "checkpoint.safetensors"
    save_file({"state/a": torch.zeros(1)}, path, metadata)
    with pytest.raises(CheckpointError, match="cannot be read"):
        Checkpoint(path, "this run").read()


def test_foreign_tensors(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    save_file({"a": torch.zeros(1)}, path, {"fingerprint": "this run", "history": "{}"})
    with pytest.raises(CheckpointError, match="cannot be read"):
        Checkpoint(path, "this run").read()


def test_a_full_disk_does_not_end_the_training(
    make_model: MakeModel,
    make_config: MakeConfig,
    examples: Examples,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    path = tmp_path / "checkpoint.safetensors"
    written(make_model, make_config(epochs=1), examples, path)
    before = path.read_bytes()
    monkeypatch.setattr("safetensors.torch.save_file", full)
    checkpoint = Checkpoint(path, "this run")
    with pytest.warns(AdaSentWarning, match="could not be written .*No space left") as caught:
        history = train_one(
            make_model(), examples, None, make_config(epochs=3), seed=0, checkpoint=checkpoint
        )
    assert len(caught) == 1
    assert len(history) == 3
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_a_folder_that_cannot_be_written_is_noticed_before(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    Checkpoint(tmp_path / "a" / "b" / "c.safetensors", "this run").check_writable()
    with pytest.raises(CheckpointError, match="cannot be written"):
        Checkpoint(tmp_path / "file" / "a" / "c.safetensors", "this run").check_writable()
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
