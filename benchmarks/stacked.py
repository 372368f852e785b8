"""Stacked training: sentence updates a second end to end, with the time of each phase.

    python benchmarks/stacked.py [--out FILE] [--models 1 10 50] [--epochs 2] [--quick]

Needs numpy, torch and, on CUDA, triton; runs on the CPU too (small: --quick). It first checks that
a stack gives the models of separate runs and that recorded steps do what plain ones do, then
trains on made-up texts of MR's lengths: 9,600 texts a model, 18,000 words, d = 50, D = 100.
Writes JSON lines.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[:1] = [str(ROOT), str(ROOT / "src")]

import torch  # noqa: E402

from adasent.nn.dropout import _fast_module, dropout_reference  # noqa: E402
from adasent.systems.adasent import AdaSent  # noqa: E402
from adasent.systems.config import AdaSentConfig  # noqa: E402
from adasent.training.average import moments  # noqa: E402
from adasent.training.config import TrainingConfig  # noqa: E402
from adasent.training.examples import Examples  # noqa: E402
from adasent.training.loop import CUDA_PRECISION, default_device, train  # noqa: E402
from adasent.training.run import Run  # noqa: E402
from adasent.training.schedule import epoch_order, training_plan  # noqa: E402
from adasent.training.stacked import Stack  # noqa: E402
from benchmarks.device import Lines  # noqa: E402


@dataclass(frozen=True)
class Size:
    """How much is trained."""

    n_texts: int = 9600
    n_held: int = 1066
    n_words: int = 18_000
    vector_size: int = 50
    hidden_size: int = 100
    gate_groups: int = 100


SMALL = Size(n_texts=200, n_held=40, n_words=300, vector_size=12, hidden_size=16, gate_groups=4)


def make_examples(n: int, size: Size, rng: np.random.Generator) -> Examples:
    """Texts of MR's lengths, words by Zipf's law, labels that the words tell."""
    lengths = np.clip(rng.normal(21, 9.4, n).round(), 1, 59).astype(np.int64)
    shares = 1 / np.arange(1, size.n_words - 1)
    flat = 2 + rng.choice(size.n_words - 2, size=lengths.sum(), p=shares / shares.sum())
    ids = np.split(flat, np.cumsum(lengths)[:-1])
    labels = np.array([np.mean(row % 2) > 0.5 for row in ids]).astype(int)
    return Examples(ids, np.eye(2, dtype=np.float32)[labels], np.ones(n, dtype=np.float32))


def make_runs(n_models: int, size: Size, epochs: int, dtype: torch.dtype) -> list[Run]:
    """Ten folds of as many seeds as it takes, each run with data and rates of its own."""
    runs = []
    for k in range(n_models):
        rng = np.random.default_rng(k)
        torch.manual_seed(k)
        network = AdaSentConfig(
            n_trained=size.n_words - k % 7,
            n_classes=2,
            vector_size=size.vector_size,
            hidden_size=size.hidden_size,
            gate_groups=size.gate_groups,
            level_loss=0.3,
        )
        model = AdaSent(network)
        model.embedding.set_vectors(torch.randn(network.n_trained, size.vector_size) * 0.1)
        config = TrainingConfig(
            epochs=epochs,
            learning_rate=1e-3 * (1 + k % 3),
            penalty=1e-3,
            vector_dropout=0.3,
            word_dropout=0.0,
            average=1.0,
            table_rate=0.3,
        )
        own = Size(**{**size.__dict__, "n_words": network.n_trained})
        training = make_examples(size.n_texts - k % 5, own, rng)
        held = make_examples(size.n_held, own, rng)
        runs.append(Run(model.to(dtype), training, held, config, seed=k // 10))
    return runs


# -- checks ------------------------------------------------------------------------------------


def distance(runs: list[Run], others: list[Run]) -> float:
    """Largest ||a - b|| / ||b|| over the weights of all models."""
    worst = 0.0
    for one, other in zip(runs, others, strict=True):
        expected = other.model.state_dict()
        for name, tensor in one.model.state_dict().items():
            # One bias cancels in a softmax: its gradient is rounding, which Adam scales up.
            if tensor.numel() > 1:
                gap = (tensor - expected[name]).double().norm() / expected[name].double().norm()
                worst = max(worst, float(gap))
    return worst


def check(device: torch.device) -> dict[str, float | str]:
    """Distances that should be small; a failure is told and does not end the benchmark."""

    def trained(*, apart: bool = False, on: torch.device = device, **options: bool) -> list[Run]:
        runs = make_runs(3, SMALL, 2, torch.float32)
        for group in [[run] for run in runs] if apart else [runs]:
            train(group, device=on, **options)
        return runs

    def masks() -> float:
        x = torch.randn(3, 50, 21, 100, device=device)
        key = torch.tensor([1, 2**62 + 12345, 77], device=device)
        rate = torch.tensor([0.0, 0.3, 0.5], dtype=torch.float64, device=device)
        fast = _fast_module(device.type)
        if fast is None:
            raise RuntimeError("no compiled dropout for this device")
        return float((fast.dropout(x, key, rate, 2) != dropout_reference(x, key, rate, 2)).sum())

    found: dict[str, float | str] = {}
    for name, measure in {
        "masks that differ": masks,
        "stack against single runs": lambda: distance(trained(), trained(apart=True)),
        "the same again": lambda: distance(trained(), trained()),
        "recorded against plain steps": lambda: distance(trained(), trained(cuda_graph=False)),
        "this device against the CPU": lambda: distance(trained(), trained(on=torch.device("cpu"))),
    }.items():
        try:
            found[name] = measure()
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"[:300]
        print(f"{name:32s} {found[name]}", flush=True)
    return found


# -- times -------------------------------------------------------------------------------------


@contextmanager
def precision(name: str) -> Iterator[None]:
    """Products as torch names their precision."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name)
    yield
    torch.set_float32_matmul_precision(before)


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def end_to_end(runs: list[Run], device: torch.device, *, cuda_graph: bool) -> list[float]:
    """Sentence updates a second of each epoch: order, upload, steps, and the wait for the sums."""
    stack = Stack(runs, device, cuda_graph=cuda_graph)
    lengths = [run.training.lengths for run in runs]
    orders = [_order(run, of, 0) for run, of in zip(runs, lengths, strict=True)]
    rates = []
    for epoch in range(runs[0].config.epochs):
        started = time.perf_counter()
        plan = training_plan(orders, lengths, stack.training.filler)
        steps = stack.upload(plan)
        stack.reset()
        for step, averaged in enumerate(moments(plan.n_rows)):
            stack.train_step(steps, step)
            stack.take_mean(averaged)
        orders = [_order(run, of, epoch + 1) for run, of in zip(runs, lengths, strict=True)]
        losses = stack.loss_sum.tolist()  # waits
        seconds = time.perf_counter() - started
        assert np.isfinite(losses).all()
        rates.append(int(plan.n_rows.sum()) / seconds)
    return rates


def _order(run: Run, lengths: np.ndarray, epoch: int):  # type: ignore[no-untyped-def]
    return epoch_order(lengths, run.config.batch_size, run.seed, epoch)


def phases(runs: list[Run], device: torch.device, repeats: int) -> dict[str, float]:
    """Milliseconds of the parts of a step of median width: differences of longer and longer ones.

    On CUDA each is recorded, so that launches do not count. ``host`` is the preparation of an epoch
    for one step, which overlaps with the device.
    """
    stack = Stack(runs, device)
    lengths = [run.training.lengths for run in runs]
    started = time.perf_counter()
    orders = [_order(run, of, 0) for run, of in zip(runs, lengths, strict=True)]
    plan = training_plan(orders, lengths, stack.training.filler)
    host = (time.perf_counter() - started) / len(plan.widths)
    steps = stack.upload(plan)
    step = int(np.argsort(steps.widths)[len(steps.widths) // 2])
    width, size = steps.widths[step], steps.sizes[step]
    inputs = (steps.rows[step, :, :size], steps.n_rows[step], steps.keys[step])

    def take(rows: torch.Tensor, n_rows: torch.Tensor, keys: torch.Tensor) -> None:
        stack._vectors(stack._take(width, rows, keys).ids, stack.table)

    def forward(rows: torch.Tensor, n_rows: torch.Tensor, keys: torch.Tensor) -> None:
        batch = stack._take(width, rows, keys)
        with torch.no_grad():
            vectors = stack._vectors(batch.ids, stack.table)
            texts = (vectors, batch.lengths, batch.targets, batch.weights)
            given = (*texts, n_rows, stack._penalty)
            named = {"key": keys, **stack._rates}
            stack._apply(stack._objective, stack.weights, given, named)

    def backward(rows: torch.Tensor, n_rows: torch.Tensor, keys: torch.Tensor) -> None:
        stack._gradients(stack._take(width, rows, keys), n_rows, keys)

    def whole(*given: torch.Tensor) -> None:
        stack._train(width, *given)

    found = {"width": float(width), "host_ms": 1e3 * host}
    before = 0.0
    for name, work in (
        ("data", take),
        ("forward", forward),
        ("backward", backward),
        ("optimiser", whole),
    ):
        found[f"{name}_ms"] = _median_ms(stack, name, work, inputs, device, repeats) - before
        before += found[f"{name}_ms"]
    return found | {"step_ms": before}


def _median_ms(
    stack: Stack,
    name: str,
    work: Callable[..., None],
    inputs: tuple[torch.Tensor, ...],
    device: torch.device,
    repeats: int,
) -> float:
    times = []
    for i in range(repeats + 3):
        wait(device)
        started = time.perf_counter()
        stack.graphs.run(name, work, *inputs)
        wait(device)
        if i >= 3:
            times.append(time.perf_counter() - started)
    return 1e3 * float(np.median(times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, nargs="+", default=[1, 10, 50])
    parser.add_argument("--groups", type=int, nargs="+", default=[100, 25], help="gate_groups")
    parser.add_argument("--epochs", type=int, default=3, help="the first compiles and records")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    device = default_device()
    lines = Lines(options.out)
    if not options.no_check:
        lines.add({"what": "check", **check(device)})
    for n_models, n_groups in itertools.product(options.models, options.groups):
        size = SMALL if options.quick else Size(gate_groups=n_groups)
        runs = make_runs(n_models, size, options.epochs, torch.float32)
        for graph in (True, False) if device.type == "cuda" else (False,):
            row: dict[str, object] = {"what": "training", "models": n_models, "graph": graph}
            row["gate_groups"] = size.gate_groups
            try:
                with precision(CUDA_PRECISION):  # as ``train`` has it
                    rates = end_to_end(runs, device, cuda_graph=graph)
                    row |= {"updates_per_s": [round(rate) for rate in rates]}
                    if graph or device.type == "cpu":
                        row |= phases(runs, device, 3 if options.quick else 20)
                if device.type == "cuda":
                    row["peak_gb"] = round(torch.cuda.max_memory_allocated() / 1e9, 2)
                    torch.cuda.reset_peak_memory_stats()
                    torch.cuda.empty_cache()
            except Exception as error:
                row["error"] = f"{type(error).__name__}: {error}"[:500]
            lines.add(row)


if __name__ == "__main__":
    main()
