"""Runs a search on dev parts: trains settings on training parts, keeps the dev curve of each.

    python -m reproduction.search_runs FILE.toml [--sets MR CR] [--folds 0 1 2 3]

The file names a ``base``, a row of Table 2 or an ablation, and lists ``settings``, which may name
a base of their own. Each is trained on the given folds (of an official split: with as many seeds),
and a line a training is added to ``results/search/FILE.jsonl``, which
:mod:`reproduction.search_table` reads. Trainings that the file has are left out. No test part is
read.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from adasent.errors import AdaSentError
from adasent.estimators.neural import NeuralClassifier, fit_encoded
from adasent.evaluation.jobs import are_same
from adasent.training.loop import default_device
from adasent.version import __version__
from reproduction.jobs import Jobs
from reproduction.paper import paper_sets
from reproduction.specs import PlannedRun

#: Networks trained as one on CUDA.
STACK = 40
#: That settings are tried on unless others are named.
FOLDS = [0, 2, 4, 6]

Setting = dict[str, Any]


def run_search(
    jobs: Jobs, base: str, settings: Sequence[Setting], data: str, folds: Iterable[int], path: Path
) -> Iterator[dict[str, Any]]:
    """Train what the file does not have yet; add its lines and give them."""
    known = _known(path)
    trials: list[tuple[dict[str, Any], NeuralClassifier, Any]] = []
    by_base: dict[str, list[Setting]] = {}
    for setting in settings:
        of = setting.get("base", base)
        by_base.setdefault(of, []).append({k: v for k, v in setting.items() if k != "base"})
    for fold, (name, own) in itertools.product(folds, by_base.items()):
        planned = _planned(jobs, name, data, fold)
        job = jobs.job(planned)
        assert job.dev is not None
        head = {"data": data, "fold": planned.fold, "seed": planned.seed, "base": name}
        texts: list[tuple[dict[str, Any], Any]] = []  # as they were read, by how
        for setting in own:
            row = head | {"settings": setting}
            if _key(row) in known:
                continue
            estimator = job.estimator({**job.settings[0], **setting})
            how = estimator.reading_settings()
            encoded = next((kept for settings, kept in texts if are_same(how, settings)), None)
            if encoded is None:
                encoded = estimator.encode(*job.part(job.train), validation=job.part(job.dev))
                texts.append((how, encoded))
            row |= {"n_dev": len(job.dev), "data_sha256": job.corpus.sha256}
            trials.append((row, estimator, encoded))
    # Those of one setting follow each other: what is alike is trained as one.
    trials.sort(key=lambda trial: _alike(trial[0]))
    size = STACK if default_device().type == "cuda" else 1
    for start in range(0, len(trials), size):
        rows, estimators, encoded_texts = zip(*trials[start : start + size], strict=True)
        try:
            fit_encoded(estimators, encoded_texts)
        except AdaSentError as error:  # diverged: of no use, and no reason to stop
            print(error, rows[0]["settings"], file=sys.stderr)
            continue
        for row, estimator in zip(rows, estimators, strict=True):
            row |= {
                "valid_accuracy": [
                    round(accuracy, 5) for accuracy in estimator.history_.column("valid_accuracy")
                ],
                "device": estimator.trained_on_.device,
                "versions": _versions(),
            }
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            yield row


def _planned(jobs: Jobs, base: str, data: str, fold: int) -> PlannedRun:
    """A run of the base: on a fold, or on a dev part of its own of an official training part.

    Of a taught row always on the protocol's dev part, for its teacher must not have seen another.
    """
    table = "ablations" if base in jobs.plan.ablations else "table2"
    if base in jobs.plan.taught:
        (*runs,) = jobs.plan.runs("taught", [data], [base])
        return next(
            run
            for run in runs
            if run.rule == "random" and fold == (run.fold if run.n_folds > 1 else run.seed)
        )
    n_folds = len(jobs.folds(data, "random"))
    if n_folds == 1:
        return PlannedRun(table, base, data, "random", 0, 1, seed=fold, fold_seed=fold)
    return PlannedRun(table, base, data, "random", fold, n_folds, seed=fold)


def _key(row: dict[str, Any]) -> str:
    return json.dumps([row[name] for name in ("data", "fold", "seed")]) + _alike(row)


def _alike(row: dict[str, Any]) -> str:
    """Equal for trainings that differ in fold and seed alone."""
    return json.dumps([row["base"], row["settings"]], sort_keys=True)


def _known(path: Path) -> set[str]:
    if not path.exists():
        return set()
    return {_key(json.loads(line)) for line in path.read_text("utf-8").splitlines()}


def _versions() -> dict[str, str]:
    return {
        "adasent": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def main(jobs: Jobs | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--sets", nargs="+", default=paper_sets())
    parser.add_argument("--folds", type=int, nargs="+", default=FOLDS)
    parser.add_argument("--results", type=Path, default=Path("results"))
    options = parser.parse_args()
    wanted = tomllib.loads(options.file.read_text("utf-8"))
    path = options.results / "search" / f"{options.file.stem}.jsonl"
    for data in options.sets:
        for row in run_search(
            jobs or Jobs(), wanted["base"], wanted["settings"], data, options.folds, path
        ):
            best = max(row["valid_accuracy"])
            print(data, row["fold"], row["seed"], row["settings"], f"{best:.4f}", flush=True)


if __name__ == "__main__":
    main()
