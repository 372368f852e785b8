"""Check and time the pyramid on a CUDA device: ``python benchmarks/gpu_pyramid.py FOLDER``.

Needs torch, triton and numpy only. Correctness comes first: sizes, lengths, gate groups, poolings
and activations in float64, float32, TF32 and bfloat16 against the packed pyramid in float64, on
poisoned memory, within the bounds of ``benchmarks/bounds.py``, which derives them. Then forward,
backward and both, for one model and for a stack, beside the packed pyramid run eagerly, at the
precision that training has, and prediction by the whole network, as a user calls it; the ceilings
of this device are measured in the same run. Prints the rows of a table and writes everything to
FOLDER/gpu_pyramid.json.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[:1] = [str(ROOT), str(ROOT / "src")]

import torch  # noqa: E402
from torch import Tensor  # noqa: E402
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence  # noqa: E402

from adasent.estimators.prediction import network_proba  # noqa: E402
from adasent.pyramid import cuda  # noqa: E402
from adasent.pyramid.cuda import pyramid_cuda  # noqa: E402
from adasent.pyramid.packed import pyramid_packed  # noqa: E402
from adasent.pyramid.weights import PyramidWeights  # noqa: E402
from adasent.systems.adasent import AdaSent  # noqa: E402
from adasent.systems.config import AdaSentConfig  # noqa: E402
from benchmarks.bounds import MODES, bounds, calm, errors, sizes  # noqa: E402
from benchmarks.device import about  # noqa: E402

DEVICE = "cuda"
WORKERS = 12  # compile on all cores; the device is shared without harm, nothing is timed meanwhile

LENGTHS = {str(n): [n, n] for n in (1, 2, 3, 31, 64, 65)}
LENGTHS["mixed"] = [5, 64, 1, 31, 120, 2, 3, 63, 65, 17, 17, 9]
LENGTHS["long"] = [300, 7]  # in segments
SIZES = [1, 20, 50, 100, 128, 200, 256]
GROUPS = [1, 25, 100]  # of the 100 dimensions that are timed

Row = dict[str, Any]


def set_precision(mode: str) -> torch.dtype:
    """Let torch multiply as the mode says; the type of its tensors."""
    precision = {"tf32": "high", "bfloat16": "medium"}.get(mode, "highest")
    torch.set_float32_matmul_precision(precision)
    return torch.float64 if mode == "float64" else torch.float32


def eager(words: Tensor, lengths: Tensor, *weights: Tensor, **to: Any) -> Tensor:
    """The packed pyramid on padded words: the vectorised version without a kernel of its own."""
    packed = pack_padded_sequence(words, lengths.cpu(), batch_first=True, enforce_sorted=False)
    built = pyramid_packed(packed, PyramidWeights(*weights), **to)
    return pad_packed_sequence(built.levels, batch_first=True, total_length=words.shape[1])[0]


def kernel(words: Tensor, lengths: Tensor, *weights: Tensor, **to: Any) -> Tensor:
    """What is measured, of one model or, as training has it, of a stack."""

    def one(words: Tensor, lengths: Tensor, *own: Tensor) -> Tensor:
        return pyramid_cuda(words, lengths, PyramidWeights(*own), **to)

    build = torch.func.vmap(one) if words.dim() == 4 else one
    return build(words, lengths, *weights)


# Correctness.


def random_case(
    lengths: list[list[int]], size: int, n_groups: int, seed: int, dtype: torch.dtype
) -> list[Tensor]:
    """Words (K, B, T, D) with NaN as padding, lengths (K, B), six weights of K models."""
    generator = torch.Generator(DEVICE).manual_seed(seed)
    counts = torch.tensor(lengths, device=DEVICE)
    n_models, n_sentences, n_words = *counts.shape, int(counts.max())

    def draw(*shape: int) -> Tensor:
        return torch.randn(n_models, *shape, device=DEVICE, generator=generator).to(dtype)

    words = draw(n_sentences, n_words, size)
    padding = torch.arange(n_words, device=DEVICE) >= counts[..., None]
    words = words.masked_fill(padding[..., None], float("nan"))
    gates = 3 * n_groups
    shapes = [(size, size), (size, size), (size,), (gates, size), (gates, size), (gates,)]
    return [words, counts, *calm([draw(*shape) / shape[-1] ** 0.5 for shape in shapes])]


def random_target(shape: torch.Size) -> Tensor:
    """What levels are projected on, for a gradient; equal shapes give equal targets."""
    generator = torch.Generator(DEVICE).manual_seed(9)
    return torch.randn(shape, device=DEVICE, generator=generator)


def outcome(build: Callable[..., Tensor], case: list[Tensor], **to: Any) -> list[Tensor]:
    """Levels, and the gradients of a fixed random projection of them."""
    words, lengths, *weights = case
    inputs = [tensor.detach().clone().requires_grad_() for tensor in (words, *weights)]
    levels = build(inputs[0], lengths, *inputs[1:], **to)
    target = random_target(levels.shape).to(levels.dtype)
    gradients = torch.autograd.grad((levels * target).sum(), inputs, materialize_grads=True)
    return [levels.detach(), *gradients]


def poisoned(*shape: int, **options: Any) -> Tensor:
    return torch.empty(*shape, **options).fill_(float("nan"))


def cases(size: int) -> Iterator[tuple[str, int, str, str]]:
    """Lengths, groups, activation and pooling of what is checked of a size."""
    groups = sorted({n for n in (1, size // 4, size) if n and size % n == 0})
    for n_groups in groups:
        yield "mixed", n_groups, "tanh", "mean"
        if size in (20, 100, 200):
            yield "mixed", n_groups, "tanh", "max"
            yield "mixed", n_groups, "relu", "mean"
    for name in LENGTHS:
        if name != "mixed":
            yield name, groups[-1], "tanh", "mean"


def check(size: int, mode: str) -> list[Row]:
    """All cases of one size and mode; in a process of its own."""
    cuda._empty = poisoned
    rows: list[Row] = []
    for i, (name, n_groups, activation, pooling) in enumerate(cases(size)):
        how = {"activation": activation, "pooling": pooling}
        row: Row = {"size": size, "mode": mode, "lengths": name, "groups": n_groups, **how}
        try:
            seed = 1000 * size + i
            row |= check_case(LENGTHS[name], size, n_groups, mode, seed, **how)
        except Exception as error:
            row |= {"ok": False, "failure": f"{type(error).__name__}: {error}"[:500]}
        rows.append(row)
    return rows


def check_case(
    lengths: list[int], size: int, n_groups: int, mode: str, seed: int, **how: str
) -> Row:
    """Errors against double precision, and whether a second run gives the same bits."""
    case = random_case([lengths], size, n_groups, seed, set_precision(mode))
    alone = [tensor[0] for tensor in case]
    double = [tensor.double() if tensor.is_floating_point() else tensor for tensor in alone]
    expected = outcome(eager, double, **how)
    target = random_target(expected[0].shape).double()
    scale = sizes(expected, double[0], lengths, double[2:], target, **how)
    found, again = (outcome(kernel, alone, **how) for _ in range(2))
    with torch.no_grad():
        without = kernel(*alone, **how)  # keeps two levels only
        order = np.argsort(lengths, kind="stable").tolist()
        known = torch.tensor(lengths)[order]  # by the host, which packs the units
        packed = torch.empty_like(without)
        packed[order] = kernel(alone[0][order], known, *alone[2:], **how)
    kinked = how != {"activation": "tanh", "pooling": "mean"}
    limit = bounds(mode, size, max(lengths), kinked=kinked)
    wrong = errors(found, expected, scale)
    for name, levels in (("no-grad levels", without), ("packed levels", packed)):
        wrong[name] = errors([levels, *found[1:]], expected, scale)["levels"]
        limit[name] = limit["levels"]
    of_bound = {name: error / limit[name] for name, error in wrong.items()}
    repeats = all(map(torch.equal, found, again))
    close = all(share <= 1 for share in of_bound.values())  # which NaN is not
    return {"errors": wrong, "of_bound": of_bound, "repeats": repeats, "ok": close and repeats}


def check_stack() -> list[Row]:
    """Three models by vmap against three runs, in double precision."""
    cuda._empty = poisoned
    row: Row = {"size": 20, "mode": "float64", "lengths": "stack of 3"}
    case = random_case([[5, 31, 1], [9, 2, 2], [7, 7, 40]], 20, 5, 3, torch.float64)
    try:
        stacked = outcome(kernel, case)[0]
        alone = torch.stack([kernel(*[tensor[k] for tensor in case]) for k in range(3)])
        row["ok"] = bool((stacked - alone).norm() < 1e-12 * alone.norm())
    except Exception as error:
        row |= {"ok": False, "failure": f"{type(error).__name__}: {error}"[:500]}
    return [row]


# Times.


class Work(NamedTuple):
    """A stack of MR-like batches."""

    n_models: int
    n_sentences: int
    size: int = 100

    @property
    def shape(self) -> str:
        """As the rows name it."""
        return f"K={self.n_models} B={self.n_sentences}"


WORKS = (Work(1, 64), Work(50, 50))


def mr_lengths(*shape: int) -> np.ndarray:
    """Words of sentences like MR's."""
    return np.random.default_rng(7).normal(21, 9.4, shape).round().clip(1, 59).astype(int)


def milliseconds(run: Callable[[], object], budget: float = 0.5) -> list[float]:
    """20th, 50th and 80th percentile of one call, by device events."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    run()
    torch.cuda.synchronize()
    repeats = int(np.clip(budget / (time.perf_counter() - begin), 5, 100))
    times = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return [float(value) for value in np.percentile(times, [20, 50, 80])]


def graphed(run: Callable[[], object]) -> Callable[[], object]:
    """The same work as one CUDA graph: no gaps between launches."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def peak_mb(run: Callable[[], object]) -> float:
    """Most memory that a call holds above what was there before."""
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    return float(torch.cuda.max_memory_allocated() - before) / 1e6


def ceilings() -> dict[str, float]:
    """Bytes and products a second that this device gives to plain torch."""
    source = torch.randn(2**29, device=DEVICE)  # 2 GiB
    copy = torch.empty_like(source)
    seconds = milliseconds(lambda: copy.copy_(source))[1] / 1e3
    a, b = (torch.randn(8192, 8192, device=DEVICE) for _ in range(2))
    found = {"copy_GB_per_s": 2 * source.nbytes / seconds / 1e9}
    for dtype in (torch.float32, torch.bfloat16):
        one, other = a.to(dtype), b.to(dtype)
        product = milliseconds(lambda x=one, y=other: x @ y)[1] / 1e3
        name = "tf32" if dtype == torch.float32 else "bfloat16"
        found[f"{name}_TFLOP_per_s"] = 2 * 8192**3 / product / 1e12
    return found


def contenders(work: Work, n_groups: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Name of what is timed -> a call."""
    lengths = mr_lengths(work.n_models, work.n_sentences).tolist()
    case = random_case(lengths, work.size, n_groups, 1, torch.float32)
    words, counts, *weights = [x[0] if work.n_models == 1 else x for x in case]
    inputs = [x.nan_to_num(0.0).requires_grad_() for x in (words, *weights)]
    target = torch.randn_like(inputs[0])

    def forward(build: Callable[..., Tensor] = kernel, counts: Tensor = counts) -> Tensor:
        return build(inputs[0], counts, *inputs[1:])

    def without_gradient() -> Tensor:
        with torch.no_grad():
            return forward()

    levels = forward()
    if work.n_models == 1:
        known = counts.cpu()  # as a data loader knows them, without waiting for the device
        yield "eager", lambda: torch.autograd.grad(forward(eager, known), inputs, target)
    yield "without gradient", without_gradient
    yield "forward", forward
    yield "backward", lambda: torch.autograd.grad(levels, inputs, target, retain_graph=True)
    # Leaves of its own: a graph that records them must not know of an earlier stream.
    leaves = [x.detach().requires_grad_() for x in inputs]
    yield (
        "both",
        lambda: torch.autograd.grad(kernel(leaves[0], counts, *leaves[1:]), leaves, target),
    )


def time_all(work: Work, n_groups: int, ceiling: dict[str, float]) -> Iterator[Row]:
    """Rows of one shape and one number of groups."""

    def row(name: str, unit: str, values: list[float]) -> Row:
        spread = dict(zip(("p20", "median", "p80"), values, strict=True))
        variant = f"N={n_groups}: {name}"
        return {"what": "pyramid", "shape": work.shape, "variant": variant, "unit": unit, **spread}

    calls = dict(contenders(work, n_groups))
    for name, run in calls.items():
        yield row(name, "ms", milliseconds(run))
    taken = milliseconds(graphed(calls["both"]))
    yield row("both, as a graph", "ms", taken)
    yield row("peak", "MB", [peak_mb(calls["both"])] * 3)
    lengths = mr_lengths(work.n_models, work.n_sentences)
    flop, moved = costs(work.size, n_groups, int((lengths * (lengths + 1) // 2).sum()))
    for name, share in (
        ("of products", flop / (ceiling["bfloat16_TFLOP_per_s"] * 1e12)),
        ("of a copy", moved / (ceiling["copy_GB_per_s"] * 1e9)),
    ):
        # Of the seconds taken as a graph, the share that the ceiling would have needed.
        yield row(name, "share", [1e3 * share / ms for ms in reversed(taken)])


def costs(size: int, n_groups: int, n_cells: int) -> tuple[int, int]:
    """Operations and bytes of forward and backward on real cells; padding is not counted.

    A product of 2 D + 4 N rows a cell, three times: forward, back to the units, and for the
    weights. Forward, a product reads units and writes its rows; the kernel reads both and writes
    units, twice, compositions and gates. Backward, the kernel reads these and a gradient and writes
    two; one product reads and adds to a gradient, the other reads units. What products read and
    write, other than gradients at units, has 2 bytes, all else 4.
    """
    width = 2 * size + 4 * n_groups
    flop = 3 * 2 * size * width * n_cells
    halves = (size + width) + (width + size) + width + width + (width + size)
    wholes = (size + 2 * size + 2 * n_groups) + (3 * size + 2 * n_groups + size) + 2 * size
    return flop, (2 * halves + 4 * wholes) * n_cells


def wall_ms(run: Callable[[], object], repeats: int = 21) -> list[float]:
    """20th, 50th and 80th percentile of one call, by the clock of the host."""
    times = []
    for _ in range(3 + repeats):
        begin = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - begin))
    # The first compile, and fetch memory.
    return [float(value) for value in np.percentile(times[3:], [20, 50, 80])]


def predict(n_texts: int = 10_662) -> Iterator[Row]:
    """Sentences a second of what a user calls: ids of MR's texts, one gate a dimension."""
    config = AdaSentConfig(
        n_trained=18_000, n_classes=2, vector_size=50, hidden_size=100, gate_groups=100
    )
    torch.manual_seed(0)
    model = AdaSent(config).to(DEVICE).eval()
    torch.nn.init.normal_(model.embedding.trained)
    generator = np.random.default_rng(0)
    ids = [generator.integers(2, 18_000, n) for n in mr_lengths(n_texts)]
    for mode, name in (("float32", "float32"), ("tf32", "TF32")):
        set_precision(mode)
        taken = wall_ms(lambda: network_proba(model, ids))
        rates = [1e3 * n_texts / ms for ms in reversed(taken)]
        spread = dict(zip(("p20", "median", "p80"), rates, strict=True))
        row = {"what": "prediction", "shape": f"{n_texts} texts", "variant": f"from ids, {name}"}
        yield {**row, "unit": "sentences/s", **spread}


def attempt(rows: list[Row], make: Callable[[], Iterator[Row] | list[Row]]) -> None:
    """Add rows as they come; a failure is told and ends nothing else."""
    try:
        for row in make():
            print(" ".join(str(value) for value in row.values()), flush=True)
            rows.append(row)
    except Exception as error:
        print(f"FAILED: {type(error).__name__}: {error}"[:500], flush=True)


def show_checks(checks: list[Row]) -> None:
    """Worst error as a share of its bound, by size and mode; ! where one failed."""
    for mode in MODES:
        cells = []
        for size in SIZES:
            rows = [row for row in checks if (row["size"], row["mode"]) == (size, mode)]
            shares = [share for row in rows for share in row.get("of_bound", {}).values()]
            failed = "" if all(row["ok"] for row in rows) else "!"
            cells.append(f"{size}:{max(shares, default=float('nan')):.2f}{failed}")
        print(f"  {mode:7} " + "  ".join(cells))
    bad = [row for row in checks if not row["ok"]]
    print(f"  {len(checks)} checks, {len(bad)} failed", flush=True)
    for row in bad[:12]:
        print("  FAIL", {key: value for key, value in row.items() if key != "ok"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true", help="only check, do not time")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    report: Row = {**about(), "ceilings": {}, "rows": []}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WORKERS, mp_context=context) as pool:
        futures = [pool.submit(check_stack)]
        futures += [pool.submit(check, size, mode) for mode in MODES for size in SIZES]
        report["checks"] = [row for future in futures for row in future.result()]
    show_checks(report["checks"])
    print(f"checked after {time.perf_counter() - begin:.0f} s", flush=True)
    if not arguments.check:
        set_precision("bfloat16")
        report["ceilings"] = ceilings()
        for work in WORKS:
            for n_groups in GROUPS:
                attempt(
                    report["rows"], lambda w=work, n=n_groups: time_all(w, n, report["ceilings"])
                )
        attempt(report["rows"], predict)
    (arguments.folder / "gpu_pyramid.json").write_text(json.dumps(report, indent=1))
    print(f"{time.perf_counter() - begin:.0f} s in all")
    if not all(row["ok"] for row in report["checks"]):
        sys.exit(1)


if __name__ == "__main__":
    main()
