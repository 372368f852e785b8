"""Many models trained as one are the models that each run gives alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from adasent.errors import AdaSentError, ConfigError
from adasent.saving.word_table import WordTable
from adasent.systems.adasent import AdaSent
from adasent.systems.config import AdaSentConfig
from adasent.training import loop
from adasent.training.callbacks import Callback
from adasent.training.checkpoint import Checkpoint
from adasent.training.config import TrainingConfig
from adasent.training.examples import Examples
from adasent.training.run import Run
from adasent.training.schedule import Plan
from adasent.training.stacked import Stack
from training_cases import CPU

#: Runs that differ in everything that may differ within a stack.
SETTINGS: list[dict[str, Any]] = [
    {"learning_rate": 0.02, "dropout": 0.5, "batch_size": 7, "epochs": 5, "average": 0.5},
    {"learning_rate": 0.05, "vector_dropout": 0.3, "penalty": 0.01, "epochs": 3, "table_rate": 0.2},
    {"word_dropout": 0.2, "clip_norm": 0.05, "batch_size": 4, "epochs": 5, "patience": 1},
    {"learning_rate": 0.01, "epochs": 4, "average": 9, "table_rate": 3},
]


def make_examples(n: int, n_words: int, longest: int, seed: int) -> Examples:
    rng = np.random.default_rng(seed)
    ids = [rng.integers(1, n_words, size=rng.integers(1, longest + 1)) for _ in range(n)]
    return Examples(
        ids,
        np.eye(2, dtype=np.float32)[rng.integers(0, 2, n)],
        rng.uniform(0.5, 1.5, n).astype(np.float32),
    )


def make_runs(
    *, optimizer: str = "adam", validated: bool = True, fine_tune: bool = True, **network: Any
) -> list[Run]:
    """Four runs in double precision, of different data, vocabularies, settings and seeds."""
    runs = []
    for k, settings in enumerate(SETTINGS):
        n_trained = 8 + 3 * k
        shape = {"hidden_size": 5, "classifier_size": 4, "gate_size": 3} | network
        config = AdaSentConfig(
            n_trained=n_trained, n_fixed=4 - k, n_classes=2, vector_size=3, **shape
        )
        torch.manual_seed(k)
        model = AdaSent(config)
        model.embedding.set_vectors(torch.randn(n_trained + 4 - k, 3))
        calm = {"word_dropout": 0.0, "vector_dropout": 0.0, "dropout": 0.0}
        training = TrainingConfig(**calm | settings, optimizer=optimizer, fine_tune=fine_tune)  # type: ignore[arg-type]
        held = make_examples(9 - k, n_trained + 4 - k, 3 + k, 50 + k) if validated else None
        data = make_examples(23 - 4 * k, n_trained, 4 + 2 * k, k)
        runs.append(Run(model.double(), data, held, training, seed=k % 3))
    return runs


def without_clock(history: Any) -> list[dict[str, Any]]:
    # The gradient flow is measured of single runs only.
    skipped = ("seconds", "examples_per_second", "gradient_flow")
    unvalidated = history[0]["valid_loss"] is None
    skipped += ("valid_loss", "valid_accuracy") if unvalidated else ()
    return [{k: v for k, v in row.items() if k not in skipped} for row in history]


@pytest.mark.parametrize(
    "variant",
    [
        {},
        {"optimizer": "adagrad"},
        {"validated": False},
        {"fine_tune": False},
        {"pooling": "mean", "activation": "relu"},
        {"local_gate": "mlp", "level_gate": "mlp", "classifier_size": 0},
    ],
)
def test_a_stack_gives_the_models_of_separate_runs(variant: dict[str, Any]) -> None:
    together, alone = make_runs(**variant), make_runs(**variant)
    histories = loop.train(together, device=CPU)
    assert len({len(history) for history in histories}) > 1  # some left the stack before others
    for one, other, history in zip(together, alone, histories, strict=True):
        (expected,) = loop.train([other], device=CPU)
        assert history.best_epoch == expected.best_epoch
        for row, expected_row in zip(without_clock(history), without_clock(expected), strict=True):
            assert row.keys() == expected_row.keys()
            for name, value in row.items():
                assert value == pytest.approx(expected_row[name], rel=1e-9), name
        for name, tensor in other.model.state_dict().items():
            found = one.model.state_dict()[name]
            # A bias that all levels share cancels in their softmax: its gradient is rounding, which
            # Adam scales up.
            shared = name.startswith("level_gate") and tensor.numel() == 1
            torch.testing.assert_close(
                found, tensor, rtol=1e-9, atol=1e-6 if shared else 1e-9, msg=name
            )


def test_finished_models_leave_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    class Watched(Stack):
        def keep(self, models: list[int]) -> None:
            super().keep(models)
            sizes.append(len(self))

    monkeypatch.setattr(loop, "Stack", Watched)
    runs = make_runs(validated=False)  # of 5, 3, 5 and 4 epochs
    histories = loop.train(runs, device=CPU)
    assert [len(history) for history in histories] == [5, 3, 5, 4]
    assert sizes == [3, 2]


def test_finished_models_that_stay_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where few have finished, they stay in the stack and no longer change."""
    monkeypatch.setattr(loop, "_CROWDED", 0.0)
    together, alone = make_runs(), make_runs()
    histories = loop.train(together, device=CPU)
    assert len({len(history) for history in histories}) > 1
    for one, other, history in zip(together, alone, histories, strict=True):
        (expected,) = loop.train([other], device=CPU)
        assert len(history) == len(expected)
        found = one.model.state_dict()
        for name, tensor in other.model.state_dict().items():
            if tensor.numel() > 1:
                torch.testing.assert_close(found[name], tensor, rtol=1e-9, atol=1e-9, msg=name)


def test_company_of_models_that_leave_one_by_one() -> None:
    """A model that has left early has the weights of its own end, not of the stack's."""
    short, long = make_runs(validated=False)[1:3]
    alone = make_runs(validated=False)[1]
    loop.train([short, long], device=CPU)
    loop.train([alone], device=CPU)
    found, expected = short.model.state_dict(), alone.model.state_dict()
    torch.testing.assert_close(found["embedding.trained"], expected["embedding.trained"])


def test_single_precision() -> None:
    together, alone = ([replace(r, model=r.model.float()) for r in make_runs()] for _ in range(2))
    loop.train(together, device=CPU)
    for one, other in zip(together, alone, strict=True):
        loop.train([other], device=CPU)
        for name, tensor in other.model.state_dict().items():
            if tensor.numel() > 1:
                found = one.model.state_dict()[name]
                torch.testing.assert_close(found, tensor, rtol=1e-2, atol=1e-3, msg=name)


def test_events_of_a_stack() -> None:
    events: list[str] = []

    class Recorder(Callback):
        def on_train_begin(self, n_epochs: int, n_examples: int, first_epoch: int) -> None:
            events.append(f"begin {n_epochs} {n_examples} {first_epoch}")

        def on_batch_end(self, epoch: int, n_done: int, loss: float | None) -> None:
            assert loss is not None
            events.append(f"batch {epoch} {n_done}")

        def on_epoch_end(self, epoch: int, row: Mapping[str, Any], is_best: bool) -> None:
            assert row["gradient_flow"] is None
            events.append(f"epoch {epoch}")

        def on_train_end(self) -> None:
            events.append("end")

    runs = [
        replace(run, config=replace(run.config, epochs=1, batch_size=20))
        for run in make_runs(validated=False)[:2]
    ]
    loop.train(runs, device=CPU, callbacks=[Recorder()])
    # 23 and 19 texts in batches of 20: one model has a second batch.
    batches = [event for event in events if event.startswith("batch")]
    assert len(batches) == 2
    assert batches[-1] == "batch 0 42"
    assert [event for event in events if event not in batches] == [
        "begin 1 42 0",
        "epoch 0",
        "epoch 0",
        "end",
    ]


def test_interrupted_stack_keeps_what_is_finished() -> None:
    class Interrupt(Callback):
        def on_batch_end(self, epoch: int, n_done: int, loss: float | None) -> None:
            if epoch == 3:
                raise KeyboardInterrupt

    runs = make_runs(validated=False)  # of 5, 3, 5 and 4 epochs
    histories = loop.train(runs, device=CPU, callbacks=[Interrupt()])
    assert [history.interrupted for history in histories] == [True, False, True, True]
    assert [len(history) for history in histories] == [3, 3, 3, 3]


def test_divergence_of_one_model() -> None:
    runs = make_runs()
    with torch.no_grad():
        runs[2].model.get_parameter("projection.weight").fill_(float("inf"))
    with pytest.raises(AdaSentError, match=r"diverged in epoch 1.*lower learning_rate"):
        loop.train(runs, device=CPU)


def test_runs_of_different_kinds_are_refused() -> None:
    one, other = make_runs()[0], make_runs(pooling="mean")[1]
    with pytest.raises(ConfigError, match=r"one kind of network.*got 2 kinds"):
        loop.train([one, other], device=CPU)


def test_a_checkpoint_is_for_one_run(tmp_path: Any) -> None:
    with pytest.raises(ConfigError, match="a checkpoint keeps a single run, got 4"):
        loop.train(make_runs(), device=CPU, checkpoint=Checkpoint(tmp_path / "c", "runs"))


def test_few_shapes_where_steps_are_recorded() -> None:
    """Recording is for CUDA; which shapes it would see can be asked anywhere."""
    stack = Stack(make_runs()[:1], CPU)
    stack.graphs.enabled = True
    plan = Plan(
        np.zeros((5, 1, 50), dtype=np.int64),
        np.array([[50], [49], [17], [2], [1]]),
        np.zeros((5, 1), dtype=np.int64),
        [1, 21, 64, 65, 2000],
    )
    steps = stack.upload(plan)
    assert steps.sizes == [50, 50, 32, 2, 1]
    assert steps.widths == [2, 22, 64, 80, 2000]


def test_every_lookup_finds_the_same_vectors() -> None:
    """In torch, in a stack of tables, and in numpy from what is saved."""
    run = replace(make_runs()[0], model=make_runs()[0].model.float())
    embedding = run.model.embedding
    n_words = len(embedding.trained) + len(embedding.fixed)
    every = Examples([np.arange(n_words)], np.eye(2, dtype=np.float32)[:1], np.ones(1, np.float32))
    stack = Stack([replace(run, validation=every)], CPU)
    table = WordTable.wide(embedding.trained.detach().numpy(), embedding.fixed.numpy())
    ids = torch.arange(n_words)
    expected = torch.cat([embedding.trained.detach(), embedding.fixed])
    assert torch.equal(embedding(ids), expected)
    assert torch.equal(stack._vectors(ids[None, None], stack.table)[0, 0], expected)
    np.testing.assert_array_equal(table.rows(ids.numpy()), expected)


def test_kind_ignores_the_words() -> None:
    kinds = {run.kind for run in make_runs()}
    assert len(kinds) == 1
    assert make_runs(optimizer="adagrad")[0].kind not in kinds
    assert make_runs(validated=False)[0].kind not in kinds
    assert make_runs(fine_tune=False)[0].kind not in kinds
    assert make_runs(activation="relu")[0].kind not in kinds


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("cuda_graph", [True, False])
def test_on_cuda(cuda_graph: bool) -> None:
    together, alone = ([replace(r, model=r.model.float()) for r in make_runs()] for _ in range(2))
    loop.train(together, device=torch.device("cuda"), cuda_graph=cuda_graph)
    for one, other in zip(together, alone, strict=True):
        loop.train([other], device=CPU)
        for name, tensor in other.model.state_dict().items():
            if tensor.numel() > 1:
                found = one.model.state_dict()[name]
                torch.testing.assert_close(found, tensor, rtol=5e-2, atol=5e-3, msg=name)
