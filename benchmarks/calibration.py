"""How far are stated probabilities from what comes true, with and without calibration?

    ADASENT_DATA=mirror python benchmarks/calibration.py [--sets CR TREC] [--folds 0 1 2] [--few]
    ADASENT_DATA=mirror python benchmarks/calibration.py --sets TREC --inside --folds 0 1 2

Trains AdaSent with its default settings on the vectors ``wiki-imdb-200d``, on folds of MR and CR
(stratified, ten, seed 0) and on TREC's official split; with ``--few`` on 1,000 texts alone, and
tests on all others (of TREC, of its training part), which are many. TREC's test part is small: with
``--inside`` its training part is measured as MR and CR are, on ten folds of its own. Looks at the
test part once with the temperature taken out of the model again, and once with it. Runs that
``build/calibration`` has are not made again. Writes ``benchmarks/results/calibration.csv``, a row
for each run and one for all folds of a set pooled, beside the rows that it has of other runs, and
fills the table of ``docs/evaluation.md``.

calibration error
    Expected calibration error, 15 bins of equal width.
by chance
    What the calibrated probabilities would show on as many texts if they were exactly right: the
    mean over 1,000 draws of right and wrong from them. No model can be expected to come out below.
p
    The share of these draws that show at least the error that was measured.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[0] = str(ROOT)

import torch  # noqa: E402

from adasent import AdaSentClassifier  # noqa: E402
from adasent.data import Corpus, held_out, load, official_split, stratified_folds  # noqa: E402
from adasent.data.corpus import take  # noqa: E402
from adasent.training.calibration import calibration_error, measure, reliability  # noqa: E402
from benchmarks.pages import markdown, put_between_marks  # noqa: E402
from benchmarks.records import environment  # noqa: E402

RUNS = ROOT / "build" / "calibration"
RESULTS = ROOT / "benchmarks" / "results" / "calibration.csv"
PAGE = ROOT / "docs" / "evaluation.md"
SETS = ("MR", "CR", "TREC")
VECTORS = "wiki-imdb-200d"
N_DRAWS = 1000
#: What stands for a fold where few texts are trained on, and how many.
FEW, N_FEW = "few", 1000
#: Begins the name of a fold of an official training part.
INSIDE = "inside"
LIMIT = 0.03


@dataclass(frozen=True)
class Run:
    """The test part of one model, or of several pooled."""

    facts: dict[str, Any]
    true: np.ndarray  # (N,) numbers of classes
    before: np.ndarray  # (N, C)
    after: np.ndarray


def part_of(corpus: Corpus, fold: str) -> tuple[str, np.ndarray, np.ndarray]:
    """Name, training and test part of a run."""
    is_split = corpus.test is not None
    if fold == FEW:
        known = official_split(corpus).train if is_split else np.arange(len(corpus))
        labels = take(corpus.labels, known)
        rest, few = held_out(labels, N_FEW / len(known), 0, texts=take(corpus.texts, known))
        return f"{N_FEW:,} to train on", known[few], known[rest]
    if is_split:
        part = official_split(corpus)
        if not fold.startswith(INSIDE):
            return "official", part.train, part.test
        inner = stratified_folds(take(corpus.labels, part.train))
        one = inner[int(fold.removeprefix(INSIDE))]
        name = f"training part, {one.index + 1} of {len(inner)}"
        return name, part.train[one.train], part.train[one.test]
    parts = stratified_folds(corpus.labels)
    return f"{int(fold) + 1} of {len(parts)}", parts[int(fold)].train, parts[int(fold)].test


def train(corpus: Corpus, fold: str) -> Run:
    """One model, and what it says of its test part."""
    name, training, tested = part_of(corpus, fold)
    clf = AdaSentClassifier(vectors=VECTORS, device="cpu")
    clf.fit(take(corpus.texts, training), take(corpus.labels, training))
    texts, labels = take(corpus.texts, tested), take(corpus.labels, tested)
    after = clf.predict_proba(texts)
    said = clf.training_["calibration"]
    layer = clf.model_.output_layer()
    with torch.no_grad():
        layer.weight *= said["temperature"]
        layer.bias *= said["temperature"]
    facts = {
        "set": corpus.name,
        "fold": name,
        "validation texts": said["n_texts"],
        "temperature": said["temperature"],
        **{k: v for k, v in environment(1).items() if k not in ("threads", "numba")},
    }
    true = np.searchsorted(clf.classes_, labels)
    return Run(facts, true, clf.predict_proba(texts), after)


def kept(corpus: Corpus, fold: str) -> Run:
    """The run, made if it is not there."""
    path = RUNS / f"{corpus.name}-{fold}.npz"
    if not path.exists():
        run = train(corpus, fold)
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays = {"true": run.true, "before": run.before, "after": run.after}
        np.savez(path, facts=np.array(json.dumps(run.facts)), **arrays)
    with np.load(path) as found:
        facts = json.loads(str(found["facts"]))
        return Run(facts, found["true"], found["before"], found["after"])


def pooled(runs: list[Run], of: str = "") -> Run:
    """The test parts of several folds as one; ``of`` says of what they are."""
    facts = runs[0].facts | {
        "fold": f"{of}{len(runs)} folds together",
        "temperature": float(np.mean([run.facts["temperature"] for run in runs])),
    }
    columns = zip(*((run.true, run.before, run.after) for run in runs), strict=True)
    return Run(facts, *(np.concatenate(column) for column in columns))


def by_chance(probabilities: np.ndarray) -> np.ndarray:
    """Calibration errors where right and wrong are drawn from the probabilities themselves."""
    rng = np.random.default_rng(0)
    confidence = probabilities.max(axis=1)
    draws = (rng.random(len(confidence)) < confidence for _ in range(N_DRAWS))
    return np.array([calibration_error(reliability(confidence, draw)) for draw in draws])


def row(run: Run) -> dict[str, Any]:
    """A line of the CSV."""
    targets, weights = np.eye(run.after.shape[1])[run.true], np.ones(len(run.true))
    figures: dict[str, Any] = {}
    parts = {"before": run.before, "after": run.after}
    for when, probabilities in parts.items():
        for name, value in measure(probabilities, targets, weights).items():
            figures[f"{name.replace('_', ' ')}, {when}"] = f"{value:.4f}"
    changed = int((run.before.argmax(axis=1) != run.after.argmax(axis=1)).sum())
    facts = run.facts | {"temperature": f"{run.facts['temperature']:.3f}"}
    head = {name: facts.pop(name) for name in ("set", "fold", "validation texts", "temperature")}
    own = {"test texts": len(run.true), "labels changed": changed}
    errors = by_chance(run.after)
    reached = float((errors >= float(figures["calibration error, after"])).mean())
    chance = {"by chance": f"{errors.mean():.4f}", "p": f"{reached:.3f}"}
    return head | own | figures | chance | facts


def table(rows: list[dict[str, str]]) -> str:
    """The rows as the page shows them."""
    shown = []
    for one in rows:
        error = float(one["calibration error, after"])
        shown.append(
            [
                one["set"],
                one["fold"],
                one["test texts"],
                one["temperature"],
                f"{one['calibration error, before']} → {error:.4f}",
                one["by chance"],
                one["p"],
                f"{one['log loss, before']} → {one['log loss, after']}",
                f"{one['accuracy, before']} → {one['accuracy, after']}",
                "yes" if error < LIMIT else "no",
            ]
        )
    titles = ["set", "fold", "test texts", "temperature", "calibration error", "by chance", "p"]
    return markdown([*titles, "log loss", "accuracy", f"below {LIMIT}"], shown)


def rows_of(corpus: Corpus) -> list[dict[str, Any]]:
    """Of the runs of a set that are there: a row each, and one for folds of a kind together."""
    names = [path.stem.split("-")[1] for path in sorted(RUNS.glob(f"{corpus.name}-*.npz"))]
    runs = {name: kept(corpus, name) for name in names}
    rows = [row(run) for run in runs.values()]
    inside = [run for name, run in runs.items() if name.startswith(INSIDE)]
    others = [run for name, run in runs.items() if not name.startswith((INSIDE, FEW))]
    for of, folds in {"training part, ": inside, "": others}.items():
        rows += [row(pooled(folds, of))] if len(folds) > 1 else []
    return rows


def merged(before: list[dict[str, str]], new: list[dict[str, str]]) -> list[dict[str, str]]:
    """Rows by set, those of a run made anew in the place of its older one."""
    found = {(one["set"], one["fold"]): one for one in (*before, *new)}
    return sorted(found.values(), key=lambda one: SETS.index(one["set"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--folds", nargs="+", type=int, default=[0], help="of MR and CR")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--inside", action="store_true", help="folds of TREC's training part")
    options = parser.parse_args()
    for name in options.sets:
        corpus = load(name)
        folds = [str(fold) for fold in options.folds]
        if corpus.test is not None:
            folds = [INSIDE + fold for fold in folds] if options.inside else ["0"]
        for fold in [FEW] if options.few else folds:
            print(json.dumps(row(kept(corpus, fold))), flush=True)
    with RESULTS.open(encoding="utf-8", newline="") as file:
        before = list(csv.DictReader(file))
    new = [one for name in SETS for one in rows_of(load(name))]
    rows = merged(before, [{k: str(v) for k, v in one.items()} for one in new])
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    body = table(rows)
    print(f"\n{body}")
    page = put_between_marks(PAGE.read_text("utf-8"), "calibration", "calibration.py", body)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
