"""Check and time the fused pyramid on a CUDA device: ``python benchmarks/gpu_pyramid.py FOLDER``.

Needs torch, triton and numpy only. Correctness comes first: every size, length, pooling, activation
and precision against the packed pyramid in float64, on poisoned memory, within the bounds that the
tests use too (``tests/pyramid_bounds.py``, which derives them). Then times against the
packed pyramid run eagerly, for one model and for a stack, with the ceilings of this device measured
in the same run. Prints a short table last and writes everything to FOLDER/gpu_pyramid.json.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[:1] = [str(ROOT), str(ROOT / "src"), str(ROOT / "tests")]

import torch  # noqa: E402
from adasent.pyramid.fused import Options, Tiling, choose_tiling, pyramid_fused  # noqa: E402
from torch import Tensor  # noqa: E402
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence  # noqa: E402

from adasent.pyramid import fused  # noqa: E402
from adasent.pyramid.packed import pyramid_packed  # noqa: E402
from adasent.pyramid.weights import PyramidWeights  # noqa: E402
from benchmarks.device import about  # noqa: E402
from pyramid_bounds import MODES, bounds, calm, errors, sizes  # noqa: E402

DEVICE = "cuda"
WORKERS = 12  # compile on all cores; the device is shared without harm, nothing is timed meanwhile

LENGTHS = {str(n): [n, n] for n in (1, 2, 3, 31, 63, 64, 65, 120)}
LENGTHS["mixed"] = [5, 64, 1, 31, 120, 2, 3, 63, 65, 17, 17, 9]
SIZES = [1, 20, 50, 100, 128, 200, 256]


def eager(words: Tensor, lengths: Tensor, weights: PyramidWeights, **to: Any) -> Tensor:
    """The packed pyramid on padded words: the vectorised version without a kernel of its own."""
    packed = pack_padded_sequence(words, lengths.cpu(), batch_first=True, enforce_sorted=False)
    built = pyramid_packed(packed, weights, **to)
    return pad_packed_sequence(built.levels, batch_first=True, total_length=words.shape[1])[0]


# Correctness.


def random_case(
    lengths: list[list[int]], size: int, seed: int, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Words (K, B, T, D) with NaN as padding, lengths (K, B), six weights of K models."""
    generator = torch.Generator(DEVICE).manual_seed(seed)
    counts = torch.tensor(lengths, device=DEVICE)
    n_models, n_sentences, n_words = *counts.shape, int(counts.max())

    def draw(*shape: int) -> Tensor:
        return torch.randn(n_models, *shape, device=DEVICE, generator=generator).to(dtype)

    words = draw(n_sentences, n_words, size)
    padding = torch.arange(n_words, device=DEVICE) >= counts[..., None]
    words = words.masked_fill(padding[..., None], float("nan"))
    shapes = [(size, size), (size, size), (size,), (3, size), (3, size), (3,)]
    return words, counts, calm([draw(*shape) / shape[-1] ** 0.5 for shape in shapes])


def random_target(shape: torch.Size) -> Tensor:
    """What levels are projected on, for a gradient; equal shapes give equal targets."""
    generator = torch.Generator(DEVICE).manual_seed(9)
    return torch.randn(shape, device=DEVICE, generator=generator)


def outcome(
    build: Callable[..., Tensor], words: Tensor, lengths: Tensor, weights: list[Tensor], **to: Any
) -> list[Tensor]:
    """Levels, and the gradients of a fixed random projection of them."""
    inputs = [tensor.detach().clone().requires_grad_() for tensor in (words, *weights)]
    levels = build(inputs[0], lengths, PyramidWeights(*inputs[1:]), **to)
    target = random_target(levels.shape).to(levels.dtype)
    gradients = torch.autograd.grad((levels * target).sum(), inputs, materialize_grads=True)
    return [levels.detach(), *gradients]


def poisoned(*shape: Any, **options: Any) -> Tensor:
    tensor = torch.empty(*shape, **options)
    return tensor.fill_(float("nan") if tensor.is_floating_point() else -(2**30))


def check(size: int, mode_name: str) -> list[dict[str, Any]]:
    """All lengths, and all variants on mixed lengths, for one size and mode; in its own process."""
    mode = next(mode for mode in MODES if mode.name == mode_name)
    fused._empty = poisoned
    rows = []
    cases = [(name, "tanh", "mean", 1) for name in LENGTHS]
    cases += [("mixed", "tanh", "mean", 4)]
    if size in (20, 100, 200):
        cases += [("mixed", "tanh", "max", 4), ("mixed", "relu", "mean", 1)]
    for i, (name, activation, pooling, group) in enumerate(cases):
        to = {"activation": activation, "pooling": pooling}
        words, lengths, weights = random_case([LENGTHS[name]], size, seed=1000 * size + i)
        options = Options(
            activation == "relu", pooling == "max", mode.precision, mode.storage, True, None, None
        )
        tiling = replace(choose_tiling(words, options), group=group)
        row: dict[str, Any] = {"size": size, "mode": mode.name, "lengths": name, **to}
        row["group"] = group
        try:
            double = [tensor.double() for tensor in (words[0], *[weight[0] for weight in weights])]
            expected = outcome(eager, double[0], lengths[0], double[1:], **to)
            target = random_target(expected[0].shape).double()
            scale = sizes(expected, double[0], LENGTHS[name], double[1:], target, **to)
            cut = {"precision": mode.precision, "storage": mode.storage, "tiling": tiling}
            found = outcome(
                pyramid_fused, words[0], lengths[0], [weight[0] for weight in weights], **to, **cut
            )
            again = outcome(
                pyramid_fused, words[0], lengths[0], [weight[0] for weight in weights], **to, **cut
            )
            with torch.no_grad():
                alone = pyramid_fused(
                    words[0], lengths[0], PyramidWeights(*[w[0] for w in weights]), **to, **cut
                )
            row["errors"] = errors(found, expected, scale)
            kinked = activation == "relu" or pooling == "max"
            limit = bounds(mode.precision, mode.storage, size, max(LENGTHS[name]), kinked=kinked)
            row["of_bound"] = {key: error / limit[key] for key, error in row["errors"].items()}
            row["repeats"] = all(map(torch.equal, found, again))
            row["inference_equal"] = bool(torch.equal(alone, found[0]))
            close = all(share <= 1 for share in row["of_bound"].values())  # which NaN is not
            row["ok"] = close and row["repeats"] and row["inference_equal"]
        except Exception as error:
            row.update(ok=False, failure=f"{type(error).__name__}: {error}"[:500])
        rows.append(row)
    return rows


def check_stack() -> list[dict[str, Any]]:
    """Three models in a stack, and by vmap, against three runs: bit for bit."""
    fused._empty = poisoned
    words, lengths, weights = random_case([[5, 31, 1], [9, 2, 2], [7, 7, 40]], 100, seed=3)
    row: dict[str, Any] = {"size": 100, "mode": "tf32", "lengths": "stack of 3"}
    try:
        stacked = outcome(pyramid_fused, words, lengths, weights)
        tiling = choose_tiling(
            words, Options(False, False, "tf32", torch.float32, True, None, None)
        )

        def mapped(words: Tensor, lengths: Tensor, weights: PyramidWeights) -> Tensor:
            def one(words: Tensor, lengths: Tensor, *weights: Tensor) -> Tensor:
                return pyramid_fused(words, lengths, PyramidWeights(*weights), tiling=tiling)

            return torch.func.vmap(one)(words, lengths, *weights[:6])

        by_vmap = outcome(mapped, words, lengths, weights)
        target_free = []
        for k in range(3):
            alone = pyramid_fused(
                words[k], lengths[k], PyramidWeights(*[w[k] for w in weights]), tiling=tiling
            )
            target_free.append(torch.equal(alone, stacked[0][k]))
        row["ok"] = all(target_free) and all(map(torch.equal, stacked, by_vmap))
    except Exception as error:
        row.update(ok=False, failure=f"{type(error).__name__}: {error}"[:500])
    return [row]


# Times.


class Work(NamedTuple):
    """A stack of MR-like batches; sentences within a batch have similar lengths, as in training."""

    name: str
    n_models: int
    n_sentences: int
    size: int = 100


SINGLE = Work("K=1 B=64", 1, 64)
STACK = Work("K=50 B=50", 50, 50)


def mr_lengths(work: Work) -> list[list[int]]:
    generator = np.random.default_rng(7)
    shape = (work.n_models, work.n_sentences)
    return generator.normal(21, 9.4, shape).round().clip(1, 59).astype(int).tolist()


def prepare(work: Work, seed: int = 1) -> tuple[Tensor, Tensor, list[Tensor], int]:
    """Inputs, and the number of cells."""
    lengths = mr_lengths(work)
    words, counts, weights = random_case(lengths, work.size, seed)
    words = words.nan_to_num(0.0)
    cells = int((counts * (counts + 1) // 2).sum())
    return words, counts, weights, cells


def step(
    words: Tensor, lengths: Tensor, weights: list[Tensor], cells: int, **to: Any
) -> Callable[[], object]:
    """Forward and backward of the fused pyramid."""
    inputs = [tensor.clone().requires_grad_() for tensor in (words, *weights)]
    target = torch.randn_like(words)

    def run() -> object:
        levels = pyramid_fused(
            inputs[0], lengths, PyramidWeights(*inputs[1:]), max_cells=cells, **to
        )
        return torch.autograd.grad(levels, inputs, target)

    return run


def eager_step(words: Tensor, lengths: Tensor, weights: list[Tensor]) -> Callable[[], object]:
    """Forward and backward of the packed pyramid, one model."""
    inputs = [tensor[0].clone().requires_grad_() for tensor in (words, *weights)]
    target = torch.randn_like(inputs[0])
    known = lengths[0].cpu()  # as a data loader knows them, without waiting for the device

    def run() -> object:
        levels = eager(inputs[0], known, PyramidWeights(*inputs[1:]))
        return torch.autograd.grad(levels, inputs, target)

    return run


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


def default_tiling(work: Work, storage: torch.dtype = torch.float32) -> Tiling:
    words = torch.empty(work.n_models, work.n_sentences, 1, work.size, device=DEVICE)
    return choose_tiling(words, Options(False, False, "tf32", storage, True, None, None))


def variants(work: Work) -> dict[str, dict[str, Any]]:
    """Named settings to time; the default first."""
    plain, half = default_tiling(work), default_tiling(work, torch.bfloat16)
    changes: list[dict[str, Any]] = [
        {},
        {"group": 1}, {"group": 2}, {"group": 4}, {"group": 8},
        {"warps": 16}, {"backward_warps": 16}, {"warps": 4},
        {"resident": False, "stages": 2}, {"resident": False, "stages": 3},
        {"resident": False, "rows": 32, "group": max(1, plain.group // 2), "stages": 2},
        {"cells": 64}, {"cells": 64, "weight_stages": 2}, {"weight_stages": 4},
        {"tile": 64, "weight_warps": 4},
    ]  # fmt: skip
    named: dict[str, dict[str, Any]] = {}
    for change in changes:
        name = " ".join(f"{key}={value}" for key, value in change.items()) or "default"
        named[name] = {"tiling": replace(plain, **change)}
    for change in [
        {},
        {"warps": 4, "backward_warps": 4},
        {"group": 2},
        {"group": 8},
        {"stages": 2},
    ]:
        name = " ".join(f"{key}={value}" for key, value in change.items())
        named[f"bf16 {name}".strip()] = {
            "tiling": replace(half, **change),
            "storage": torch.bfloat16,
        }
    return named


def warm(work: Work, name: str) -> str | None:
    """Run a variant once, so that its kernels lie compiled in Triton's cache; or say why not."""
    try:
        step(*prepare(work), **variants(work)[name])()
        torch.cuda.synchronize()
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    return None


def ceilings() -> dict[str, float]:
    """Bytes and products a second that this device gives to plain torch."""
    source = torch.randn(2**29, device=DEVICE)  # 2 GiB
    copy = torch.empty_like(source)
    seconds = milliseconds(lambda: copy.copy_(source))[1] / 1e3
    found = {"copy_GB_per_s": 2 * source.nbytes / seconds / 1e9}
    for name, dtype in (("tf32", torch.float32), ("bf16", torch.bfloat16)):
        a = torch.randn(8192, 8192, device=DEVICE, dtype=dtype)
        b = torch.randn(8192, 8192, device=DEVICE, dtype=dtype)
        seconds = milliseconds(lambda a=a, b=b: a @ b)[1] / 1e3
        found[f"{name}_TFLOP_per_s"] = 2 * 8192**3 / seconds / 1e12
    return found


def kernel_times(run: Callable[[], object]) -> dict[str, float]:
    """Device milliseconds of each kernel of one call."""
    from torch.profiler import ProfilerActivity, profile

    run()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(5):
            run()
        torch.cuda.synchronize()
    rows = sorted(profiler.key_averages(), key=lambda row: -row.device_time_total)
    return {row.key[:60]: row.device_time_total / 5e3 for row in rows[:12]}


def time_all(work: Work, failures: dict[str, str], ceiling: dict[str, float]) -> dict[str, Any]:
    words, lengths, weights, cells = prepare(work)
    sentences = work.n_models * work.n_sentences
    case = (words, lengths, weights, cells)
    report: dict[str, Any] = {"sentences": sentences, "cells": cells, "longest": words.shape[2]}
    times: dict[str, Any] = {}

    def measure(name: str, make: Callable[[], Callable[[], object]]) -> None:
        try:
            times[name] = milliseconds(make())
        except Exception as error:
            times[name] = f"{type(error).__name__}: {error}"[:300]

    if work.n_models == 1:
        measure("eager packed", lambda: eager_step(words, lengths, weights))
    named = variants(work)
    measure("default as CUDA graph", lambda: graphed(step(*case, **named["default"])))
    for name, to in named.items():
        if name in failures:
            times[name] = failures[name]
        else:
            measure(name, lambda to=to: step(*case, **to))
    measure("default again", lambda: step(*case, **named["default"]))

    def inference() -> Callable[[], object]:
        frozen = PyramidWeights(*weights)
        return lambda: pyramid_fused(words, lengths, frozen)

    measure("inference only", inference)
    report["milliseconds"] = times
    try:
        report["kernels"] = kernel_times(step(*case, **named["default"]))
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        step(*case, **named["default"])()
        report["peak_MB"] = (torch.cuda.max_memory_allocated() - before) / 1e6
    except Exception as error:
        report["kernels"] = f"{type(error).__name__}: {error}"[:300]
    best = times["default as CUDA graph"]
    if isinstance(best, list):
        # Six (D, D) products a cell: two forward, two back, two for the weights. Bytes: units and
        # compositions written and read back, z written and read twice, words and levels.
        seconds = best[1] / 1e3
        flop = 12 * work.size**2 * cells
        moved = 4 * work.size * (7 * cells + 4 * words[..., 0].numel())
        report["TFLOP_per_s"] = flop / seconds / 1e12
        report["share_of_tf32"] = report["TFLOP_per_s"] / ceiling["tf32_TFLOP_per_s"]
        report["share_of_copy"] = moved / seconds / 1e9 / ceiling["copy_GB_per_s"]
        report["sentences_per_s"] = sentences / seconds
    return report


def show(report: dict[str, Any]) -> None:
    print(
        "\ncorrectness: worst error as a share of its bound, by size and mode; ! where one failed"
    )
    for mode in MODES:
        cells = []
        for size in SIZES:
            rows = [
                row for row in report["checks"] if (row["size"], row["mode"]) == (size, mode.name)
            ]
            shares = [share for row in rows for share in row.get("of_bound", {}).values()]
            failed = "" if all(row["ok"] for row in rows) else "!"
            cells.append(f"{size}:{max(shares, default=float('nan')):.2f}{failed}")
        print(f"  {mode.name:7} " + "  ".join(cells))
    bad = [row for row in report["checks"] if not row["ok"]]
    print(f"  {len(report['checks'])} checks, {len(bad)} failed")
    for row in bad[:12]:
        print("  FAIL", {key: value for key, value in row.items() if key != "ok"})
    print("\nceilings", {key: round(value, 1) for key, value in report["ceilings"].items()})
    for name, work in report["times"].items():
        print(f"\n{name}: {work['cells']} cells; ms p20 p50 p80, thousand sentences/s")
        for label, value in work["milliseconds"].items():
            if isinstance(value, str):
                print(f"  {label:42} {value[:110]}")
            else:
                rate = work["sentences"] / value[1]
                print(f"  {label:42} {value[0]:8.3f} {value[1]:8.3f} {value[2]:8.3f} {rate:9.1f}")
        rest = {k: v for k, v in work.items() if k not in ("milliseconds", "kernels")}
        print("  ", {k: round(v, 3) if isinstance(v, float) else v for k, v in rest.items()})
        print("   kernels (ms):", work.get("kernels"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true", help="only check, do not time")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    torch.backends.cuda.matmul.allow_tf32 = True
    begin = time.perf_counter()
    works = [] if arguments.check else [SINGLE, STACK]
    report: dict[str, Any] = {
        **about(),
        "default": {work.name: asdict(default_tiling(work)) for work in (SINGLE, STACK)},
        "times": {},
        "ceilings": {},
    }
    path = arguments.folder / "gpu_pyramid.json"

    def keep() -> None:  # a run that fails leaves what it had
        path.write_text(json.dumps(report, indent=1, default=str))

    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WORKERS, mp_context=context) as pool:
        checks = [pool.submit(check_stack)]
        checks += [pool.submit(check, size, mode.name) for mode in MODES for size in SIZES]
        warmed = {
            (work, name): pool.submit(warm, work, name) for work in works for name in variants(work)
        }
        report["checks"] = [row for future in checks for row in future.result()]
        keep()
        print(f"checked after {time.perf_counter() - begin:.0f} s", flush=True)
        failures = {key: reason for key, future in warmed.items() if (reason := future.result())}
    print(f"compiled after {time.perf_counter() - begin:.0f} s", flush=True)
    if works:
        report["ceilings"] = ceilings()
    for work in works:
        failed = {name: reason for (at, name), reason in failures.items() if at == work}
        report["times"][work.name] = time_all(work, failed, report["ceilings"])
        keep()
    show(report)
    print(f"\n{time.perf_counter() - begin:.0f} s in all; everything is in {path.name}")
    if not all(row["ok"] for row in report["checks"]):
        sys.exit(1)


if __name__ == "__main__":
    main()
