"""How faithful are the word scores of an explanation, and what do they cost?

    ADASENT_DATA=mirror python benchmarks/faithfulness.py [--texts 300] [--dev | --cost]

Trains three models a set where ``build/faithfulness`` has none, scores the words of held-back
sentences by each method, writes ``faithfulness.csv``, ``explain_cost.csv`` and
``explain_times.csv`` in ``benchmarks/results``, and fills the tables of ``docs/explanations.md``.
``--dev`` takes other sentences, those on which the method was chosen, and only prints; ``--cost``
only measures the time again.

All figures are about the predicted class and the model's own probabilities:

comprehensiveness
    How far its probability falls when the top words are deleted, mean over the top 10, 20, 30 and
    50 %. Higher is better.
sufficiency
    How far it falls when only these words are left. Lower is better.
correlation
    Spearman's, with the fall when each word is deleted by itself. Leave-one-out has 1 by
    definition.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[0] = str(ROOT)

import adasent  # noqa: E402
from adasent import AdaSentClassifier, Predictor  # noqa: E402
from adasent.data import held_out, load  # noqa: E402
from adasent.explain import METHODS, Explanation, explain  # noqa: E402
from adasent.runtime.climb import NUMPY  # noqa: E402
from adasent.runtime.threads import blas_threads  # noqa: E402
from adasent.text.vocabulary import UNK_ID  # noqa: E402
from benchmarks.pages import markdown, put_between_marks  # noqa: E402

MODELS = ROOT / "build" / "faithfulness"
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "explanations.md"
EPOCHS = {"MR": 4, "TREC": 8}
FRACTIONS = (0.1, 0.2, 0.3, 0.5)
SEEDS = (0, 1, 2)  # of the models: how they turn out matters more than which texts are taken
STEPS = 32
N_DEV = 240
#: Held-back texts that were looked at while the method was chosen.
N_SEEN = {"MR": 540, "TREC": 500}
METRICS = ("comprehensiveness", "sufficiency", "correlation")
BASELINE = f"integrated gradients, {STEPS} steps"

Scores = list[np.ndarray]


def texts_of(name: str) -> tuple[tuple[list[str], list[Any]], list[str]]:
    """Texts and labels to train on, and held-back texts: those for ``--dev``, then others.

    The official test part of a set, where it has one, was looked at while the method was chosen.
    """
    corpus = load(name)
    seen = [] if corpus.test is None else corpus.test
    rest = np.setdiff1d(np.arange(len(corpus)), seen)
    texts, labels = [corpus.texts[i] for i in rest], [corpus.labels[i] for i in rest]
    kept, held = held_out(labels, 0.1, 0, texts=texts)
    order = np.random.default_rng(1).permutation
    held_back = [corpus.texts[i] for i in [*order(seen), *rest[order(held)]]]
    return ([texts[i] for i in kept], [labels[i] for i in kept]), held_back


def model_of(name: str, training: tuple[list[str], list[Any]], seed: int = SEEDS[0]) -> Path:
    """The folder of a model, trained for a few epochs if there is none."""
    folder = MODELS / f"{name}-{seed}"
    if not folder.exists():
        settings = {"vectors": "wiki-imdb-200d", "epochs": EPOCHS[name], "tokenizer": "kim"}
        AdaSentClassifier(**settings, random_state=seed).fit(*training).save(folder)
    return folder


class Judge:
    """Deletes words and watches the probability of the predicted class."""

    def __init__(self, predictor: Predictor, texts: Sequence[str]) -> None:
        self.network = predictor.network
        self.ids = predictor.encoder(texts)
        self.texts = texts
        probabilities = self.network.probabilities(self.ids)
        self.best = probabilities.argmax(axis=1)
        self.p = probabilities.max(axis=1)

    def falls(self, texts: list[np.ndarray], of: np.ndarray) -> np.ndarray:
        """How far the probability falls from that of text ``of[i]`` to that of ``texts[i]``."""
        found = self.network.probabilities([ids if len(ids) else UNKNOWN for ids in texts])
        return self.p[of] - found[np.arange(len(of)), self.best[of]]

    def leave_one_out(self) -> Scores:
        """The fall when each word is deleted by itself."""
        parts = [np.delete(ids, i) for ids in self.ids for i in range(len(ids))]
        lengths = [len(ids) for ids in self.ids]
        falls = self.falls(parts, np.repeat(np.arange(len(self.ids)), lengths))
        return np.split(falls, np.cumsum(lengths)[:-1])

    def judge(self, scores: Scores, truth: Scores) -> np.ndarray:
        """(texts, metrics); NaN where a correlation does not exist."""
        left, kept, of = [], [], []
        for i, (ids, score) in enumerate(zip(self.ids, scores, strict=True)):
            order = np.argsort(-score, kind="stable")
            for fraction in FRACTIONS:
                n = max(1, round(fraction * len(ids)))
                kept.append(ids[np.sort(order[:n])])
                left.append(ids[np.sort(order[n:])])
                of.append(i)
        shape = (len(self.ids), len(FRACTIONS))
        erased = self.falls(left, np.array(of)).reshape(shape).mean(axis=1)
        alone = self.falls(kept, np.array(of)).reshape(shape).mean(axis=1)
        same = [spearman(a, b) for a, b in zip(scores, truth, strict=True)]
        return np.stack([erased, alone, np.array(same)], axis=1)


UNKNOWN = np.array([UNK_ID])


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Rank correlation; NaN where either is constant."""
    from scipy.stats import rankdata

    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])


def gradients(model: Any, judge: Judge, n_steps: int) -> Scores:
    """Integrated gradients of the probability by the word vectors; one step is gradient x input.

    They start from zeros, which the vector of the unknown word is as well.
    """
    import torch

    if model.embedding(torch.tensor([UNK_ID])).any():
        raise AssertionError("expected zeros for the unknown word; it is a start of its own now")
    found = []
    for ids, best in zip(judge.ids, judge.best.tolist(), strict=True):
        vectors = model.embedding(torch.from_numpy(ids)[None])
        # The middle of each step; a single one is taken at the text itself.
        at = torch.ones(1) if n_steps == 1 else (torch.arange(n_steps) + 0.5) / n_steps
        path = (at[:, None, None] * vectors).requires_grad_()
        output = model.classify(path, torch.full((n_steps,), len(ids)))
        (slope,) = torch.autograd.grad(output.log_probs[:, best].exp().sum(), path)
        found.append((slope.mean(dim=0) * vectors[0]).sum(dim=-1).numpy())
    return found


def methods(predictor: Predictor, folder: Path, judge: Judge) -> dict[str, Callable[[], Scores]]:
    """Every method by name."""
    model = AdaSentClassifier.load(folder).model_
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    rng = np.random.default_rng(0)

    def ours(method: str) -> Scores:
        found = explain(predictor, list(judge.texts), method=method)
        return [one.words[:, i] for one, i in zip(found, judge.best, strict=True)]

    def alone() -> Scores:
        words = judge.network.probabilities([np.array([i]) for ids in judge.ids for i in ids])
        parts = np.split(words, np.cumsum([len(ids) for ids in judge.ids])[:-1])
        return [part[:, i] for part, i in zip(parts, judge.best, strict=True)]

    return {
        **{shown: partial(ours, name) for name, shown in METHODS.items()},
        "the word alone": alone,
        BASELINE: lambda: gradients(model, judge, STEPS),
        "gradient x input": lambda: gradients(model, judge, 1),
        "leave-one-out": judge.leave_one_out,
        "random": lambda: [rng.random(len(ids)) for ids in judge.ids],
    }


def faithfulness(name: str, n_texts: int, dev: bool) -> list[dict[str, Any]]:
    """A row for each method on a set, means over the models."""
    training, held = texts_of(name)
    chosen = held[:N_DEV] if dev else held[N_SEEN[name] : N_SEEN[name] + n_texts]
    if find_spec("numba"):
        import_module("numba")  # once it is imported, it is used by all that can
    judged: dict[str, list[np.ndarray]] = {}
    costs: dict[str, list[float]] = {}
    for seed in SEEDS:
        folder = model_of(name, training, seed)
        predictor = adasent.load(folder)
        judge = Judge(predictor, chosen)
        once = timed(lambda p=predictor: p.predict_proba(chosen))
        truth = judge.leave_one_out()
        for method, scores_of in methods(predictor, folder, judge).items():
            started = time.process_time()
            scores = scores_of()
            costs.setdefault(method, []).append((time.process_time() - started) / once)
            found = judge.judge(scores, truth)
            judged.setdefault(method, []).append(found)
            print(f"{name:5}{seed} {method:52}", *np.nanmean(found, axis=0).round(4), flush=True)
    rows = []
    for method, by_model in judged.items():
        means = np.nanmean(by_model, axis=(0, 1)).tolist()
        rows.append(
            {"set": name, "method": method, "models": len(SEEDS), "texts": len(chosen)}
            | dict(zip(METRICS, means, strict=True))
            | {"predictions": float(np.median(costs[method]))}
        )
    # A text counts once, with its mean over the models; one of equal scores has no correlation.
    for row in rows[: len(METHODS)]:
        differences = np.subtract(judged[row["method"]], judged[BASELINE]).mean(axis=0)
        for metric, column in zip(METRICS, differences.T, strict=True):
            known = column[np.isfinite(column)]
            half = 1.96 * known.std(ddof=1) / len(known) ** 0.5
            row |= {f"{metric}, ours less IG": known.mean(), f"{metric}, half width": half}
    return rows


def timed(work: Callable[[], object], repeats: int = 5) -> float:
    """Processor time of the quickest of several runs, after one that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def quickest(works: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """Processor time of each, in turns: what else the machine does meets all of them."""
    times: list[list[float]] = [[] for _ in works]
    for turn in range(repeats + 1):
        for work, spent in zip(works, times, strict=True):
            started = time.process_time()
            work()
            if turn:  # the first is for warming up
                spent.append(time.process_time() - started)
    return [min(spent) for spent in times]


def read_all(explanations: Sequence[Explanation]) -> None:
    """Ask for what is found late: phrases, and what each unit says, adds and is made of."""
    for one in explanations:
        for field in ("offsets", "phrases", "unit_scores", "unit_probabilities", "spans"):
            getattr(one, field)


def costs(name: str) -> list[dict[str, Any]]:
    """Time of an explanation beside that of a prediction, both from strings; numba or not."""
    training, held = texts_of(name)
    texts = (held + training[0])[:200]
    rows = []
    for numba in (False, True) if find_spec("numba") else (False,):
        predictor = adasent.load(model_of(name, training))
        if numba:
            import_module("numba")  # once it is imported, it is used
        else:
            predictor.network.backend.passes = lambda *_: NUMPY  # type: ignore[method-assign]
        for method, n in (("shapley", 1), ("fast", 1), ("fast", 100), ("fast", len(texts))):
            last = min((10 if method == "shapley" else 100) * n, len(texts))
            calls = [texts[i : i + n] for i in range(0, last, n)]
            why = partial(predictor.explain, method=method)
            predict, explain_only, whole = quickest(
                [
                    lambda p=predictor, c=calls: [p.predict_proba(one) for one in c],
                    lambda e=why, c=calls: [e(one) for one in c],
                    lambda e=why, c=calls: [read_all(e(one)) for one in c],
                ],
                3,
            )
            n_texts = sum(map(len, calls))
            rows.append(
                {
                    "set": name,
                    "method": method,
                    "numba": "yes" if numba else "no",
                    "texts a call": n,
                    "prediction, ms": 1000 * predict / n_texts,
                    "explanation, ms": 1000 * explain_only / n_texts,
                    "all read, ms": 1000 * whole / n_texts,
                    "ratio": explain_only / predict,
                }
            )
            print(
                *(f"{v:.3g}" if isinstance(v, float) else v for v in rows[-1].values()), flush=True
            )
    return rows


def times() -> list[dict[str, Any]]:
    """Time to explain a text by its length, words and phrases; texts are MR's, end to end."""
    training, held = texts_of("MR")
    folder = model_of("MR", training)
    words = [word for one in adasent.load(folder).trace(held[:400]) for word in one.tokens]
    rows = []
    for numba in (False, True) if find_spec("numba") else (False,):
        predictor = adasent.load(folder)
        if numba:
            import_module("numba")
        else:
            predictor.network.backend.passes = lambda *_: NUMPY  # type: ignore[method-assign]
        for n in (5, 10, 11, 25, 50, 100, 200):
            texts = [" ".join(words[i * n : (i + 1) * n]) for i in range(5)]
            if {len(one) for one in predictor.encoder(texts)} != {n}:
                raise AssertionError(f"expected texts of {n} words")
            row: dict[str, Any] = {"words": n, "numba": "yes" if numba else "no"}
            for method in METHODS:
                why = partial(predictor.explain, method=method)
                spent = quickest([lambda e=why, t=t: e(t).phrases for t in texts], 3)
                row[f"{method}, median ms"] = 1000 * float(np.median(spent))
                row[f"{method}, most ms"] = 1000 * max(spent)
            rows.append(row)
            print(*rows[-1].values(), flush=True)
    return rows


def table(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> str:
    """Rows as Markdown."""
    return markdown(list(columns), [[str(row[column]) for column in columns] for row in rows])


def tables(
    rows: Sequence[dict[str, Any]],
    cost_rows: Sequence[dict[str, Any]],
    time_rows: Sequence[dict[str, Any]],
) -> dict[str, str]:
    """The tables of the page, by the name between their marks."""
    shown = []
    for row in rows:
        figures = {metric: f"{float(row[metric]):.3f}" for metric in METRICS}
        shown.append(row | figures | {"predictions": f"{float(row['predictions']):.3g}"})
    compared = []
    for row in rows:
        if row["method"] in METHODS.values():
            line = {"set": row["set"], "method": row["method"]}
            for metric in METRICS:
                mean = float(row[f"{metric}, ours less IG"])
                half = float(row[f"{metric}, half width"])
                line[metric] = f"{mean:+.3f} ± {half:.3f}"
            compared.append(line)
    return {
        "faithfulness": table(shown, ("set", "method", "models", "texts", *METRICS, "predictions")),
        "difference": table(compared, ("set", "method", *METRICS)),
        "cost": table(list(map(_short, cost_rows)), tuple(cost_rows[0])),
        "times": table(list(map(_short, time_rows)), tuple(time_rows[0])),
    }


def _short(row: dict[str, Any]) -> dict[str, Any]:
    return row | {k: f"{float(v):.3g}" for k, v in row.items() if "ms" in k or "ratio" in k}


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV, as strings."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Rows as CSV; the columns are those of the first row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), restval="")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--dev", action="store_true")
    parser.add_argument("--cost", action="store_true")
    options = parser.parse_args()
    with blas_threads(1):
        if not options.cost:
            rows = [
                row for name in EPOCHS for row in faithfulness(name, options.texts, options.dev)
            ]
            if options.dev:
                return
            write(RESULTS / "faithfulness.csv", rows)
        write(RESULTS / "explain_cost.csv", [row for name in EPOCHS for row in costs(name)])
        write(RESULTS / "explain_times.csv", times())
    names = ("faithfulness", "explain_cost", "explain_times")
    page = PAGE.read_text(encoding="utf-8")
    for name, body in tables(*(read(RESULTS / f"{name}.csv") for name in names)).items():
        print(f"\n{body}")
        page = put_between_marks(page, name, "faithfulness.py", body)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
