"""Measure and write CSV: one command for the CPU, one for a machine with CUDA.

    python benchmarks/run.py cpu                  # all, about ten minutes on two idle cores
    python benchmarks/run.py cpu --only mr        # one of them
    python benchmarks/run.py cpu --quick          # small sizes, few repeats: does it run?
    python benchmarks/run.py gpu

Each benchmark runs in a process of its own, so that the number of threads can be fixed before any
library starts. ADASENT_DATA names the data mirror, as everywhere.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[0] = str(ROOT)

from benchmarks.records import environment, row, write_rows  # noqa: E402
from benchmarks.registry import CPU, FULL, GPU, QUICK  # noqa: E402

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and measure; the exit status is that of the first failure."""
    parser = argparse.ArgumentParser(description="Measure speed and memory.")
    parser.add_argument("device", choices=["cpu", "gpu"])
    parser.add_argument("--only", choices=list(CPU), help="measure this benchmark alone")
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--here", action="store_true", help="in this process, threads as they are")
    options = parser.parse_args(arguments)
    if options.device == "gpu":
        return run_gpu(options.out)
    if options.here:
        measure(options.only, quick=options.quick, out=options.out)
        return 0
    names = [options.only] if options.only else list(CPU)
    flags = ["--quick"] * options.quick
    for name in names:
        if CPU[name].systems:
            spawn(["-m", "benchmarks.systems", CPU[name].systems, *flags], threads=2)
        start = time.perf_counter()
        command = [__file__, "cpu", "--here", "--only", name, "--out", str(options.out.resolve())]
        spawn([*command, *flags], threads=CPU[name].threads)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    return 0


def spawn(command: list[str], threads: int) -> None:
    """Run Python with every library held to so many threads."""
    fixed = dict.fromkeys(THREAD_VARIABLES, str(threads))
    settings = {**os.environ, **fixed, "TOKENIZERS_PARALLELISM": "false", "TQDM_DISABLE": "1"}
    subprocess.run([sys.executable, *command], cwd=ROOT, env=settings, check=True)


def measure(name: str, *, quick: bool, out: Path) -> None:
    """Run one benchmark in this process and put its rows into the CSV."""
    import torch

    benchmark = CPU[name]
    torch.set_num_threads(benchmark.threads)
    where = environment(benchmark.threads)
    rows = []
    for result in benchmark.load()(QUICK if quick else FULL):
        rows.append(row(name, result, where))
        last = rows[-1]
        against = f" against {last.against}" if last.against else ""
        print(f"{name}: {last.provider}{against}: {last.median:g} {last.unit}", flush=True)
    write_rows(out / "cpu.csv", rows)


def run_gpu(out: Path) -> int:
    """The scripts that measure on a GPU, one after the other."""
    import torch

    if not torch.cuda.is_available():
        print("measuring on a GPU needs CUDA, and torch finds none here", file=sys.stderr)
        return 1
    out.mkdir(parents=True, exist_ok=True)
    for script, *arguments in GPU:
        filled = [argument.format(out=out.resolve()) for argument in arguments]
        subprocess.run([sys.executable, f"benchmarks/{script}", *filled], cwd=ROOT, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
