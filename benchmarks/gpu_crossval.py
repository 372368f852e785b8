"""Cross-validation on this device: seconds from reading the file to the last record, and accuracy.

    ADASENT_DATA=mirror python benchmarks/gpu_crossval.py [--out FILE.jsonl] [--vectors FOLDER]

Ten folds of MR for ten epochs, twice in one process: the first run compiles the kernels, the second
finds them ready. Then the default settings on the sets of results/defaults, trained as a stack, and
beside them the accuracy of the records there, with the device that they were made on.

Needs torch, triton, numpy, scikit-learn and safetensors. ``--vectors`` names a folder of NAME.npz
with ``words`` and ``matrix``; without it the library gets them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[:1] = [str(ROOT), str(ROOT / "src")]

from adasent.data import load  # noqa: E402
from adasent.data.derived import vector_file  # noqa: E402
from adasent.errors import AdaSentWarning  # noqa: E402
from adasent.evaluation.crossval import cross_validate  # noqa: E402
from adasent.evaluation.records import UNSAID, FoldRecord, read_records  # noqa: E402
from adasent.vectors.words import WordVectors, write_vectors  # noqa: E402
from benchmarks.device import Lines  # noqa: E402

DEFAULTS = ROOT / "results" / "defaults"
DATA, VECTORS = "MR", "wiki-50d"


def vector_path(name: str, folder: Path | None, scratch: Path) -> Path:
    """A file of word vectors that the library reads."""
    if folder is None:
        return vector_file(name)
    path = scratch / f"{name}.bin"
    if not path.exists():
        with np.load(folder / f"{name}.npz") as file:
            matrix = file["matrix"].astype(np.float32)
            write_vectors(path, WordVectors(file["words"].tolist(), matrix))
    return path


def validate(data: str, settings: dict[str, Any], **how: Any) -> tuple[list[FoldRecord], float]:
    """The records of all folds, and the seconds from reading the file to the last of them."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdaSentWarning)  # odd texts of the sets, long known
        records = [record for record, _ in cross_validate(load(data), settings, **how)]
    return records, time.perf_counter() - started


def time_folds(lines: Lines, path: Path, n_folds: int, epochs: int) -> None:
    """The same cross-validation twice."""
    for run in ("first", "again"):
        vectors = {VECTORS: path}
        found, seconds = validate(DATA, {"epochs": epochs}, vectors=vectors, n_folds=n_folds)
        row = {"what": "crossval", "data": DATA, "vectors": VECTORS, "run": run}
        scores = [100 * record.accuracy for record in found]
        how = {"folds": n_folds, "epochs": epochs, "seconds": seconds}
        lines.add({**row, **how, "accuracy": statistics.fmean(scores)})


def differing(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Settings in which two specs differ, those that only one knows included; not the vectors."""
    old, new = UNSAID | old, UNSAID | new
    named = (old.keys() | new.keys()) - {"vectors"}
    return sorted(name for name in named if old.get(name, ...) != new.get(name, ...))


def compare(lines: Lines, known: list[FoldRecord], path: Path) -> None:
    """The folds of committed records again, on this device."""
    first = known[0]
    name = first.spec["vectors"][0]["name"]
    seeds = sorted({record.seed for record in known})
    how = {"rule": first.rule, "n_folds": first.n_folds, "seeds": seeds}
    found, seconds = validate(first.data, {}, vectors={name: path}, **how)
    row = {"what": "accuracy", "data": first.data, "vectors": name, "runs": len(found)}
    changed = differing(first.spec, found[0].spec)
    if changed:
        reason = f"the defaults have changed since the records: {', '.join(changed)}"
        lines.add({**row, "error": f"{reason}; make results/defaults anew"})
        return
    for where, records in (("here", found), ("recorded", known)):
        scores = [100 * record.accuracy for record in records]
        row[where] = statistics.fmean(scores)
        row[f"{where}_sd"] = statistics.stdev(scores)
    lines.add({**row, "seconds": seconds, "recorded_on": first.machine})


def main(arguments: list[str] | None = None) -> None:
    """Measure and write JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--vectors", type=Path, help="folder of NAME.npz")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--defaults", type=Path, default=DEFAULTS, help="folder of the records")
    options = parser.parse_args(arguments)
    lines = Lines(options.out)
    with tempfile.TemporaryDirectory() as scratch:
        # Kernels that another script has left would make the first run a second one.
        os.environ["TRITON_CACHE_DIR"] = str(Path(scratch) / "triton")
        # Files come from the mirror; without a folder of its own, the cache asks for pooch.
        os.environ.setdefault("ADASENT_CACHE", str(Path(scratch) / "cache"))
        folder = Path(scratch)
        time_folds(
            lines, vector_path(VECTORS, options.vectors, folder), options.folds, options.epochs
        )
        for path in sorted(options.defaults.glob("*.jsonl")):
            known = read_records(path)
            name = known[0].spec["vectors"][0]["name"]
            compare(lines, known, vector_path(name, options.vectors, folder))


if __name__ == "__main__":
    main()
