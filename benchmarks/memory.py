"""Peak memory of one piece of work, measured in a fresh process.

The process imports and warms up, resets Linux's high-water mark of its resident memory, works, and
prints how far the mark rose: every page touched counts, whoever allocated it. Large arrays are made
to return to the system when freed, so that nothing of the warm-up is reused unseen.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.records import ROOT

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_mb(task: str, **settings: object) -> float:
    """Megabytes by which a task of `TASKS` raises the memory of a process that is warmed up."""
    command = [sys.executable, "-m", "benchmarks.memory", task, json.dumps(settings)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"measuring the memory of {task} failed:\n{done.stderr}")
    return float(done.stdout.split()[-1])


def rise(work: Callable[[], object]) -> float:
    """Megabytes between the resident memory before the work and its highest during it."""
    if not RESET.exists():
        raise RuntimeError("peak memory is read from /proc; measure it on Linux")
    RESET.write_text("5", encoding="ascii")
    before = _kilobytes("VmRSS")
    work()
    return (_kilobytes("VmHWM") - before) / 1e3


def _kilobytes(field: str) -> int:
    for line in STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise RuntimeError(f"{STATUS} has no {field}")


def _predict(longest: int, folder: str) -> float:
    import adasent

    # A long text would start numba in the middle of the measurement, which takes some 140 MB once;
    # from here on every length runs compiled.
    import adasent.runtime.compiled

    predictor = adasent.load(folder)
    words = ["a", "fine", "film", "of", "its", "kind"]
    predictor.predict_proba([" ".join(words)])
    text = " ".join(words[i % len(words)] for i in range(longest))
    return rise(lambda: predictor.predict_proba([text]))


def _padded(longest: int, folder: str) -> float:
    from benchmarks.inference import HIDDEN
    from benchmarks.workloads import PaddedWork

    del folder  # the baseline has no folder format
    PaddedWork(np.array([6]), HIDDEN, 1, by_length=False).pyramid()
    work = PaddedWork(np.array([longest]), HIDDEN, 1, by_length=False)
    return rise(work.pyramid)


def _training(provider: str, batches: list[list[int]], height: int | None = None) -> float:
    from benchmarks.training import Trainer

    trainer = Trainer(provider, height)
    trainer.run([np.array([3, 2])])
    return rise(lambda: trainer.run([np.array(lengths) for lengths in batches]))


TASKS: dict[str, Callable[..., float]] = {
    "predict": _predict,
    "padded": _padded,
    "training": _training,
}

if __name__ == "__main__":
    print(TASKS[sys.argv[1]](**json.loads(sys.argv[2])))
