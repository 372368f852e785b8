"""Measure and write CSV: one command for the CPU, one for a machine with CUDA.

    python benchmarks/run.py cpu                  # all, about ten minutes on two idle cores
    python benchmarks/run.py cpu --only mr        # one of them
    python benchmarks/run.py cpu --quick          # small sizes, few repeats: does it run?
    python benchmarks/run.py gpu --out FOLDER     # all; FOLDER keeps what each step wrote and said

Each benchmark runs in a process of its own, so that the number of threads can be fixed before any
library starts. ADASENT_DATA names the data mirror, as everywhere.
"""

from __future__ import annotations

import argparse
import os
import shutil
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
    parser.add_argument("--vectors", type=Path, help="gpu: folder of word vectors, NAME.npz")
    parser.add_argument("--here", action="store_true", help="in this process, threads as they are")
    options = parser.parse_args(arguments)
    if options.device == "gpu":
        return run_gpu(options.out.resolve(), options.vectors)
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


def run_gpu(out: Path, vectors: Path | None) -> int:
    """The scripts that measure on a GPU, one after the other; one that fails stops no other."""
    import torch

    if not torch.cuda.is_available():
        print("measuring on a GPU needs CUDA, and torch finds none here", file=sys.stderr)
        return 1
    out.mkdir(parents=True, exist_ok=True)
    failed = []
    for script, *arguments in GPU:
        filled = [argument.format(out=out) for argument in arguments]
        if script == "gpu_crossval.py" and vectors is not None:
            filled += ["--vectors", str(vectors.resolve())]
        log = out / f"{Path(script).stem}.log"
        status = tee([sys.executable, f"benchmarks/{script}", *filled], log)
        if status:
            failed.append(script)
    shutil.copy(ROOT / "benchmarks" / "results" / "gpu.csv", out)
    if failed:
        print(f"failed: {', '.join(failed)}; see their logs in {out}", file=sys.stderr)
    return len(failed)


def tee(command: list[str], log: Path) -> int:
    """Run a command, its output shown and kept; returns its exit status."""
    print(f"== {' '.join(command[1:])}", flush=True)
    start = time.perf_counter()
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            file.write(line)
            print(line, end="", flush=True)
    seconds = time.perf_counter() - start
    print(f"== exit status {process.returncode} after {seconds:.0f} s", flush=True)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
