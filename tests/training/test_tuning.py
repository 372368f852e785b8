"""An encoder is trained with the network above it: rates, gradients, state, choice of the epoch."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from adasent.encoders.folder import find_encoder
from adasent.encoders.transformer import TransformerEncoder
from adasent.errors import AdaSentError, ConfigError
from adasent.systems.adasent import AdaSent
from adasent.systems.config import AdaSentConfig
from adasent.text.passage import Passage
from adasent.text.tokenize import words
from adasent.training.callbacks import Callback
from adasent.training.checkpoint import Checkpoint, run_fingerprint
from adasent.training.config import TrainingConfig, TuningConfig
from adasent.training.examples import Examples
from adasent.training.history import History
from adasent.training.tuning import TunedRun, course, layer_depths, parameter_groups, tune
from training_cases import CPU

TEXTS = ["a good film", "the plot was bad", "good good plot", "bad bad film", "good", "bad x"] * 3
QUIET = {"vector_dropout": 0.0, "dropout": 0.0, "word_dropout": 0.0}


def some_examples() -> Examples:
    passages = [Passage(text, words(text)) for text in TEXTS]
    targets = np.array([[1.0, 0.0] if "good" in text else [0.0, 1.0] for text in TEXTS])
    ids = [np.arange(len(one)) for one in passages]
    return Examples(ids, targets, np.ones(len(TEXTS)), None, passages)


@pytest.fixture
def make_run(encoder_folder: Path) -> Any:
    def _make(seed: int = 3, validate: bool = True, **settings: Any) -> TunedRun:
        tuning = {"tuning_epochs": 3, "tuning_batch": 5, "encoder_rate": 1e-3}
        names = TuningConfig().to_dict()
        tuning |= {k: v for k, v in settings.items() if k in names}
        config = TrainingConfig(**{k: v for k, v in settings.items() if k not in names})
        encoder = TransformerEncoder.open(find_encoder(encoder_folder), words, 50)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = AdaSent(AdaSentConfig(n_trained=2, n_classes=2, vector_size=16, hidden_size=6))
        examples = some_examples()
        return TunedRun(
            model,
            examples,
            examples if validate else None,
            config,
            seed,
            encoder=encoder,
            tuning=TuningConfig(**tuning),
            origin="abc",
        )

    return _make


def state_of(run: TunedRun) -> dict[str, torch.Tensor]:
    return {**run.model.state_dict(), **run.encoder.network.state_dict()}


def without_clock(history: History) -> list[dict[str, Any]]:
    clock = ("seconds", "examples_per_second")
    return [{k: v for k, v in row.items() if k not in clock} for row in history]


def test_rates_fall_from_layer_to_layer(make_run: Any) -> None:
    run = make_run(encoder_rate=1e-3, layer_decay=0.5, weight_decay=0.02, learning_rate=0.1)
    depths, n_layers = layer_depths(run.encoder.network)
    assert n_layers == 2
    assert {name.split(".")[0] for name, depth in depths.items() if depth == 0} == {"embeddings"}
    assert depths["encoder.layer.0.output.dense.weight"] == 1
    assert depths["encoder.layer.1.attention.self.query.bias"] == 2
    *groups, head = parameter_groups(run)
    found = {(group["peak"], group["weight_decay"]) for group in groups}
    assert found == {(rate, decay) for rate in (1e-3, 5e-4, 2.5e-4) for decay in (0.02, 0.0)}
    assert head["peak"] == 0.1
    n_head = sum(p.numel() for p in head["params"])
    assert n_head == sum(p.numel() for p in run.model.parameters()) - 2 * 16
    trained = sum(p.numel() for group in groups for p in group["params"])
    assert trained == sum(p.numel() for p in run.encoder.network.parameters())


def test_the_course_of_step_sizes() -> None:
    shares = [course(step, 20, 0.2) for step in range(20)]
    assert shares[:4] == [0.25, 0.5, 0.75, 1.0]
    assert shares[4] == 1.0
    assert shares[-1] == pytest.approx(1 / 16)
    assert sorted(shares[4:], reverse=True) == shares[4:]
    assert course(0, 1, 0.0) == 1.0
    assert [course(step, 2, 1.0) for step in range(2)] == [0.5, 1.0]


def test_it_learns_and_gradients_reach_the_first_layer(make_run: Any) -> None:
    run = make_run(tuning_epochs=8, learning_rate=0.01, **QUIET)
    before = {name: tensor.clone() for name, tensor in state_of(run).items()}
    (history,) = tune([run], device=CPU)
    after = state_of(run)
    moved = {name for name, tensor in after.items() if not torch.equal(tensor, before[name])}
    assert "encoder.layer.0.attention.self.query.weight" in moved
    assert "embeddings.word_embeddings.weight" in moved
    assert "composition.compose_left" in moved
    assert "embedding.trained" not in moved
    assert max(history.column("valid_accuracy")) == 1.0
    columns = ["epoch", "train_loss", "valid_loss", "valid_accuracy", "gradient_norm"]
    assert list(history[0]) == [*columns, "gradient_flow", "seconds", "examples_per_second"]
    assert run.model.embedding.trained.requires_grad
    assert not run.encoder.network.training


def test_a_rate_of_zero_leaves_the_encoder_alone(make_run: Any) -> None:
    run = make_run(tuning_epochs=1, encoder_rate=0.0, weight_decay=0.5)
    before = {name: t.clone() for name, t in run.encoder.network.state_dict().items()}
    tune([run], device=CPU)
    for name, tensor in run.encoder.network.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_one_seed_gives_one_model(make_run: Any) -> None:
    torch.manual_seed(7)
    generator = torch.random.get_rng_state()
    runs = [make_run(word_dropout=0.2), make_run(word_dropout=0.2), make_run(4, word_dropout=0.2)]
    histories = tune(runs, device=CPU)
    assert torch.equal(generator, torch.random.get_rng_state())
    assert without_clock(histories[0]) == without_clock(histories[1])
    assert without_clock(histories[0]) != without_clock(histories[2])
    for name, tensor in state_of(runs[0]).items():
        assert torch.equal(tensor, state_of(runs[1])[name]), name
    assert runs[0].kind != runs[1].kind


def test_parts_of_a_batch_give_its_gradient(make_run: Any) -> None:
    def calm(**settings: Any) -> TunedRun:
        run: TunedRun = make_run(
            tuning_epochs=1, tuning_batch=9, validate=False, **QUIET, **settings
        )
        for module in run.encoder.network.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        return run

    whole, parts = calm(), calm(accumulate=4)
    (first,), (second,) = tune([whole], device=CPU), tune([parts], device=CPU)
    assert first[0]["gradient_norm"] == pytest.approx(second[0]["gradient_norm"], rel=1e-3)
    assert first[0]["train_loss"] == pytest.approx(second[0]["train_loss"], rel=1e-3)


class Stop(Callback):
    def __init__(self, epoch: int, error: BaseException) -> None:
        self.epoch, self.error = epoch, error

    def on_batch_end(self, epoch: int, n_done: int, loss: float | None) -> None:
        assert 0 < n_done <= len(TEXTS)
        if epoch == self.epoch:
            raise self.error


def test_a_killed_run_goes_on_to_the_same_result(make_run: Any, tmp_path: Path) -> None:
    whole = make_run()
    (expected,) = tune([whole], device=CPU)
    checkpoint = Checkpoint(tmp_path / "checkpoint.safetensors", run_fingerprint(make_run(), CPU))
    with pytest.raises(SystemExit):
        tune([make_run()], device=CPU, callbacks=[Stop(1, SystemExit(1))], checkpoint=checkpoint)
    resumed = make_run()
    (history,) = tune([resumed], device=CPU, checkpoint=checkpoint)
    assert without_clock(history) == without_clock(expected)
    for name, tensor in state_of(whole).items():
        assert torch.equal(tensor, state_of(resumed)[name]), name


def test_other_texts_and_settings_are_other_runs(make_run: Any) -> None:
    run = make_run()
    assert run_fingerprint(run, CPU) == run_fingerprint(make_run(), CPU)
    assert run_fingerprint(run, CPU) != run_fingerprint(make_run(warmup=0.5), CPU)
    run.training.passages[0] = Passage("a nice film", words("a nice film"))
    assert run_fingerprint(run, CPU) != run_fingerprint(make_run(), CPU)


def test_ctrl_c_keeps_the_best_so_far(make_run: Any) -> None:
    run = make_run()
    (history,) = tune([run], device=CPU, callbacks=[Stop(1, KeyboardInterrupt())])
    assert history.interrupted
    assert len(history) == 1
    with pytest.raises(KeyboardInterrupt):
        tune([make_run()], device=CPU, callbacks=[Stop(0, KeyboardInterrupt())])


class Seen(Callback):
    def __init__(self) -> None:
        self.rows: list[Mapping[str, Any]] = []
        self.begun: tuple[int, ...] = ()

    def on_train_begin(self, n_epochs: int, n_examples: int, first_epoch: int) -> None:
        self.begun = n_epochs, n_examples, first_epoch

    def on_epoch_end(self, epoch: int, row: Mapping[str, Any], is_best: bool) -> None:
        self.rows.append(row)


def test_it_stops_when_it_gets_no_better(make_run: Any) -> None:
    seen = Seen()
    (history,) = tune(
        [make_run(encoder_rate=0.0, learning_rate=1e-8, patience=1, tuning_epochs=9)],
        device=CPU,
        callbacks=[seen],
    )
    assert seen.begun == (9, 18, 0)
    assert len(seen.rows) == len(history) < 9


def test_divergence_is_an_error(make_run: Any) -> None:
    run = make_run()
    with torch.no_grad():
        run.model.projection.weight.fill_(float("nan"))
    with pytest.raises(AdaSentError, match="lower encoder_rate or learning_rate"):
        tune([run], device=CPU)


def test_settings_have_ranges() -> None:
    with pytest.raises(ConfigError, match="warmup must be a number from 0 to 1"):
        TuningConfig(warmup=2)
    assert TuningConfig.from_dict(TuningConfig().to_dict()) == TuningConfig()
    assert replace(TuningConfig(), accumulate=2).accumulate == 2


LAUNCHED = """
import os, sys
import torch
from adasent import AdaSentClassifier

texts = ["a good film", "the plot was bad", "good", "bad"] * 20
clf = AdaSentClassifier(
    encoder=sys.argv[1], tune_encoder=True, tuning_epochs=2, tuning_batch=8, hidden_size=8,
    encoder_rate=1e-3, device="cpu", validation_fraction=0,
)
clf.fit(texts, ["pos", "neg"] * 40)
total = sum(float(p.double().sum()) for p in clf.encoder_.network.parameters())
print("rank", os.environ["RANK"], total, clf.history_.column("train_loss"), flush=True)
"""


@pytest.mark.slow
def test_several_processes_end_at_one_model(encoder_folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "launched.py"
    script.write_text(LAUNCHED)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*launcher, "--nproc_per_node", "2", str(script), str(encoder_folder)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = [line.split(maxsplit=2) for line in done.stdout.splitlines() if "rank" in line]
    assert {rank for _, rank, _ in said} == {"0", "1"}
    assert len({rest for _, _, rest in said}) == 1
