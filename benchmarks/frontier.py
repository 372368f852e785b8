"""Accuracy, speed, size and time to train of every system on the five sets, on one core.

    python -m benchmarks.frontier measure --encoder DIR --teaching DIR [--sets MR] [--systems ...]
    python -m benchmarks.frontier write     # table and figure, from the rows that there are

Peers run through their own packages and are trained here, on the first random folds of the
reproduction's tables (of TREC, the official part). Rows of the tables have their accuracy from the
records and their hours from the machine of the records; what is measured of them is a model of the
same settings and words that was trained for one batch: its speed and its size are those of the
whole training. All that are measured on a set in one call take turns, so that a busy machine hurts
all alike. Rows are kept in benchmarks/results/frontier.csv; a call replaces what it measures.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frontier_rows import (
    N_FOLDS,
    SETS,
    FrontierRow,
    draw,
    origin,
    read_rows,
    table,
    write_rows,
)
from benchmarks.pages import put_between_marks
from benchmarks.records import ROOT, environment
from benchmarks.registry import FULL, Sizes
from benchmarks.systems import (
    STORE,
    SYSTEMS,
    System,
    folder_mb,
    minilm_folder,
    sentence_transformer,
)
from benchmarks.timing import take_turns
from benchmarks.workloads import Split

FIGURE = ROOT / "benchmarks" / "results" / "frontier.svg"
PAGE = ROOT / "docs" / "speed.md"
RECORDS = ROOT / "results"

#: Texts of a measurement of speed, and of one of a system that is slow.
N_TEXTS, N_SLOW = 500, 50
ROUNDS = 5
#: Steps of contrastive training in SetFit; with all pairs of thousands of texts it has no end.
SETFIT_STEPS = 300
#: Peers that take minutes to train, and are trained on one fold alone.
ONE_FOLD = ("SetFit", "model2vec", "MiniLM + LR", "gte-small + LR")
SLOW = ("SetFit", "MiniLM + LR", "gte-small + LR", "gte-frozen", "gte-tuned", "gte-mean")
#: Of the reproduction's rows on encoders, the texts that their models are trained on for speed.
N_FEW = 64


# -- peers ------------------------------------------------------------------------------------


def setfit_system(sizes: Sizes, split: Split, store: Path) -> System:
    """SetFit: MiniLM tuned on pairs of equal and unequal label, logistic regression."""
    from setfit import SetFitModel

    folder = store / "setfit"
    if not folder.exists():
        from datasets import Dataset
        from setfit import Trainer, TrainingArguments

        names = sorted(set(split.train_labels))
        model = SetFitModel.from_pretrained(str(minilm_folder()), device="cpu", labels=names)
        given = {"text": split.train_texts, "label": [*map(names.index, split.train_labels)]}
        arguments = TrainingArguments(
            output_dir=str(store / "setfit-steps"), batch_size=16, max_steps=SETFIT_STEPS,
            save_strategy="no", report_to="none",
        )  # fmt: skip
        Trainer(model=model, args=arguments, train_dataset=Dataset.from_dict(given)).train()
        model.save_pretrained(str(folder))
    # What it has of scikit-learn is pickled by the package itself; it was written a moment ago.
    model = SetFitModel.from_pretrained(str(folder), device="cpu")
    return System(lambda texts: model.predict(texts, as_numpy=True), folder_mb(folder))


def gte_system(encoder: Path) -> Callable[[Sizes, Split, Path], System]:
    """sentence-transformers: mean pooling of gte-small, logistic regression."""

    def make(sizes: Sizes, split: Split, store: Path) -> System:
        from sklearn.linear_model import LogisticRegression

        network = sentence_transformer(encoder)
        stored = store / "gte-small.npy"
        if not stored.exists():
            store.mkdir(parents=True, exist_ok=True)
            np.save(stored, network.encode(split.train_texts))
        model = LogisticRegression(max_iter=1000).fit(np.load(stored), split.train_labels)
        return System(
            lambda texts: model.predict(network.encode(texts)),
            folder_mb(encoder) + model.coef_.nbytes / 1e6,
        )

    return make


def peers(encoder: Path | None) -> dict[str, Callable[..., System]]:
    """Name -> what trains it on a split and keeps it in a folder."""
    found: dict[str, Callable[..., System]] = {k: v for k, v in SYSTEMS.items() if k != "adasent"}
    found["SetFit"] = setfit_system
    if encoder is not None:
        found["gte-small + LR"] = gte_system(encoder)
    return found


# -- rows of the tables -----------------------------------------------------------------------


def cells() -> Any:
    """Records of Table 2 and of the rows beside it, by place."""
    from reproduction.catalog import Catalog
    from reproduction.cells import table2_cells
    from reproduction.paper import paper_sets
    from reproduction.specs import experiments

    assert set(paper_sets()) == set(SETS)
    catalog = Catalog(RECORDS, experiments())
    return table2_cells([*catalog.records["table2"], *catalog.records["taught"]])


def of_records(row: FrontierRow, found: Any) -> None:
    """Accuracy and time to train of a row, where its records are all there."""
    from reproduction.cells import Place

    runs = found.get(Place(row.system, row.data, "random"))
    if runs is None or not runs.complete:
        return
    row.accuracy, row.runs, row.source = 100 * runs.summary().mean, len(runs.records), "records"
    times = [record.seconds / max(1, len(record.tried)) for record in runs.records]
    row.train_s, row.trained_on = float(np.median(times)), runs.records[0].machine


def quick_model(jobs: Any, name: str, data: str, store: Path) -> System:
    """A model of a row with the words and settings of its records, hardly trained."""
    import adasent
    from reproduction.lessons import Lesson
    from reproduction.students import make_student

    folder = store / f"row-{name}"
    table = "taught" if name in jobs.plan.taught else "table2"
    run = jobs.plan.runs(table, [data], [name])[0]
    spec = jobs.plan.row(run)
    if not folder.exists():
        job = jobs.job(run)
        texts, labels = job.part(job.train)
        brief = {"epochs": 1, "epoch_size": 50} if spec.vectors else {}
        if spec.teacher is not None:
            classes = np.unique(labels)
            known = np.eye(len(classes), dtype=np.float32)[np.searchsorted(classes, labels)]
            lesson = Lesson(classes, known, {}, {})
            protocol = jobs.plan.protocol
            model = make_student(
                spec.registered, lesson, jobs.lessons.vectors, tokenizer=protocol.tokenizer,
                extra_words=protocol.extra_words, max_words=2000, **spec.base | brief,
            )  # fmt: skip
        else:
            model = job.estimator(job.settings[0])
            model.set_params(**brief)
            if spec.encoder is not None:
                model.set_params(device="cpu", tuning_epochs=1)
                some = np.random.default_rng(0).permutation(len(texts))[:N_FEW].tolist()
                texts, labels = [texts[i] for i in some], [labels[i] for i in some]
        model.fit(texts, labels, **({"validation": (texts[:9], labels[:9])} if brief else {}))
        folder.parent.mkdir(parents=True, exist_ok=True)
        model.save(folder)
    loaded = adasent.load(folder)
    return System(loaded.predict, folder_mb(folder))


# -- measuring --------------------------------------------------------------------------------


def splits(data: str, n: int) -> list[Split]:
    """The first folds of the tables; of an official set its one."""
    from adasent.data import load, official_split, stratified_folds
    from adasent.data.corpus import take

    corpus = load(data)
    labels = [str(label) for label in corpus.labels]
    official = corpus.test is not None
    folds = [official_split(corpus)] if official else stratified_folds(corpus.labels, 10, 0)
    return [
        Split(
            take(corpus.texts, fold.train), take(labels, fold.train),
            take(corpus.texts, fold.test), take(labels, fold.test),
        )
        for fold in folds[:n]
    ]  # fmt: skip


def measure(options: argparse.Namespace) -> None:
    """All asked systems on all asked sets; rows are written after each set."""
    from reproduction.jobs import Jobs

    ours = cells()
    jobs = Jobs(teaching=options.teaching)
    where = environment(1)
    made = peers(options.encoder)
    rows_of_tables = [*jobs.plan.systems, *jobs.plan.taught]
    asked = options.systems or [*made, *rows_of_tables]
    for data in options.sets:
        parts = splits(data, options.folds)
        found: dict[str, FrontierRow] = {}
        systems: dict[str, System] = {}
        for name in asked:
            row = FrontierRow(name, data)
            try:
                if name in made:
                    systems[name] = train_peer(row, made[name], parts)
                else:
                    of_records(row, ours)
                    place = STORE / "frontier" / data / "0"
                    systems[name] = quick_model(jobs, name, data, place)
            except Exception as error:  # one that cannot be had stops no other; its row says so
                print(f"{data} {name}: {type(error).__name__}: {error}", flush=True)
                if row.accuracy is None:
                    continue
            else:
                row.mb = systems[name].megabytes
            found[name] = row
            print(f"{data} {name}: {row.accuracy} % {row.mb} MB {row.train_s} s", flush=True)
        texts = parts[0].test_texts
        order = np.random.default_rng(0).permutation(len(texts))
        given = {
            name: [texts[i] for i in order[: N_SLOW if name in SLOW else N_TEXTS]]
            for name in systems
        }
        seconds = take_turns(
            {name: _predicts(system, given[name]) for name, system in systems.items()},
            options.rounds,
        )
        for name, values in seconds.items():
            rates = len(given[name]) / values
            row = found[name]
            row.low, row.sentences, row.high = map(float, np.quantile(rates, [0.2, 0.5, 0.8]))
            for key in ("device", "python", "torch", "numpy", "adasent", "commit", "date"):
                setattr(row, key, str(where[key]))
        write_rows(list(found.values()))


def train_peer(row: FrontierRow, make: Callable[..., System], parts: Sequence[Split]) -> System:
    """Train a peer on each part; the model of the first, for its speed."""
    scores, times = [], []
    first: System | None = None
    for i, split in enumerate(parts[:1] if row.system in ONE_FOLD else parts):
        store = STORE / "frontier" / row.data / str(i)
        note = store / f"{row.system.replace(' ', '')}.json"  # what was kept is not trained again
        start = time.perf_counter()
        system = make(FULL, split, store)
        took = time.perf_counter() - start
        store.mkdir(parents=True, exist_ok=True)
        if note.exists():
            took = max(took, json.loads(note.read_text())["seconds"])
        note.write_text(json.dumps({"seconds": took}))
        hits = np.array([str(one) for one in system.predict(split.test_texts)])
        scores.append(float((hits == np.array(split.test_labels)).mean()))
        times.append(took)
        first = first or system
    assert first is not None
    row.accuracy, row.runs, row.source = 100 * float(np.mean(scores)), len(scores), "measured"
    row.train_s, row.trained_on = float(np.median(times)), "one core"
    return first


def _predicts(system: System, texts: list[str]) -> Callable[[], object]:
    return lambda: system.predict(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=["measure", "write"])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--systems", nargs="+", help="peers, or rows of the reproduction")
    parser.add_argument("--encoder", type=Path, help="the folder of gte-small")
    parser.add_argument("--teaching", type=Path, help="what away.py pack-taught wrote, teaching/")
    parser.add_argument("--folds", type=int, default=N_FOLDS, help="of peers that train in seconds")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    if options.command == "measure":
        for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"):
            if os.environ.get(name) != "1":
                parser.error(f"speed is of one core: set {name}=1")
        import torch

        torch.set_num_threads(1)
        measure(options)
    rows = read_rows()
    print(table(rows))
    if options.command == "write":
        draw(rows, FIGURE)
        page = PAGE.read_text("utf-8")
        for name, text in (("frontier", table(rows)), ("frontier-origin", origin(rows))):
            page = put_between_marks(page, name, "frontier.py", text)
        PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
