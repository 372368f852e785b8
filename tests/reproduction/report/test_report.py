"""Sentences of the report follow the figures; nothing is claimed of what was not run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent.data import Corpus
from adasent.data.audit import audit
from adasent.errors import ConfigError
from adasent.evaluation.summary import Summary
from experiment_cases import made_up
from reproduction.catalog import Catalog
from reproduction.paper import paper_sets
from reproduction.report import build_report, to_html, to_markdown
from reproduction.report.blocks import Points, Prose, Report, Section
from reproduction.report.readme import BEGIN, END, fill_readme
from reproduction.report.robustness import _findings
from reproduction.specs import Unit, experiments
from reproduction.store import Store
from reproduction.table2 import short_table2

N = 200  # texts of a fold
SIZES = {
    "adasent": {"word": 50, "network": {"2": 6_500, "6": 6_600}},
    "cbow": {"word": 50, "network": {"2": 6_100, "6": 6_200}},
    "cnn": {"word": 50, "network": {"2": 400_000, "6": 400_100}},
}
MODELS = [{"data": "MR", "accuracy": 0.8, "n_test": 10}]
PART = {"start": 0, "length": 1, "weight": 0.5, "n_ways": 1}
FIGURES: dict[str, dict[str, Any]] = {
    "fig-belief": {
        "rows": [
            {"data": "MR", "position": 1, "text": "a b …", "beliefs": [0.7, 0.3]},
            {"data": "CR", "position": 2, "text": "c d …", "beliefs": [0.1, 0.9]},
        ]
    },
    "fig-example": {
        "text": "if the movie",
        "label": "negative",
        "positive": "positive",
        "beliefs": [0.6, 0.3, 0.1],
        "level_probabilities": [0.2, 0.8, 0.9],
        "probability": 0.45,
    },
    "fig-pca": {
        "panels": [
            {
                "data": "SUBJ",
                "system": system,
                "n": 3,
                "n_unseen": 2,
                "classes": ["a", "b"],
                "codes": [0, 1],
                "points": [[0.0, 1.0], [1.0, 0.0]],
                "explained": [0.5, 0.2],
                "separated": separated,
            }
            for system, separated in (("AdaSent", 0.9), ("cBoW", 0.6))
        ]
    },
    "fig-composition": {
        "phrases": [
            {
                "tokens": ["not", "good"],
                "parts": [PART, PART | {"start": 1}],
                "weight_error": 0.0,
                "unit_error": 1e-17,
                "trees": [{"tree": "(not good)", "weight": 1.0}] * 9,
                "tree_error": 2e-3,
            }
        ]
    },
}


def add_cells(root: Path, share: Callable[[str, str, str], float]) -> None:
    """Every cell of Tables 2 and 3, with that share right by system, set and rule."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)  # half a thousand of them take seconds
        _add_cells(Store(root), share)


def _add_cells(store: Store, share: Callable[[str, str, str], float]) -> None:
    plan = experiments()
    vectors = [{"name": "mine", "sha256": "00"}]
    for system in plan.systems.values():
        spec: dict[str, Any] = {"vectors": vectors} if system.vectors else {}
        if system.trees:
            spec["trees"] = "span parser"
        if system.name == "adasent":
            spec["defaults"] = {"hidden_size": 7, "pooling": "mean"}
        for data in paper_sets():
            n_folds = 1 if data == "TREC" else 2
            for rule in ("random", "grouped"):
                right = np.arange(N) < round(N * share(system.name, data, rule))
                for fold in range(n_folds):
                    record = made_up(
                        system.name, data, right, rule=rule, fold=fold, n_folds=n_folds, **spec
                    )
                    record = replace(record, tried=[{"accuracy": record.accuracy + 0.01}])
                    unit = Unit("table2", system.name, data, rule, fold, n_folds, 0)
                    store.add(unit, record)
            if system.table3:
                for seed in range(plan.protocol.n_draws):
                    n_right = round(N * share(system.name, data, "random")) + seed % 3
                    record = made_up(
                        system.name, data, np.arange(N) < n_right, table="table3", seed=seed
                    )
                    store.add(Unit("table3", system.name, data, "random", 0, 2, seed), record)


def report_of(root: Path) -> Report:
    return build_report(Catalog(root, experiments()))


def words(report: Report, title: str) -> str:
    """All that a section says, tables included."""
    (section,) = [section for section in report.sections if section.title == title]
    return to_markdown(Report("", "", (section,)))


def leading(system: str, data: str, rule: str) -> float:
    """AdaSent far ahead; grouped folds cost everybody 5 points on MPQA."""
    return (0.9 if system == "adasent" else 0.7) - 0.05 * (rule == "grouped" and data == "MPQA")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything in it."""
    root = tmp_path_factory.mktemp("results")
    add_cells(root, leading)
    store = Store(root)
    for variant, n in (("default", 90), ("words only", 60)):
        for fold in range(3):
            record = made_up(
                variant,
                "MR",
                np.arange(100) < n + fold * (variant == "default"),
                table="ablations",
                fold=fold,
                n_folds=3,
            )
            store.add(Unit("ablations", variant, "MR", "random", fold, 3, 0), record)
    (root / "table1").mkdir()
    texts = ["good film", "bad film", "good film", "dull", "fine \ufffd"]
    corpus = Corpus("MPQA", [*texts, "fine", ""] * 2, ["a", "b", "a", "b", "a", "b", "b"] * 2, "00")
    found = audit(corpus, n_folds=2).to_dict()
    (root / "table1" / "MPQA.json").write_text(json.dumps(found))
    (root / "figures").mkdir()
    for name, data in FIGURES.items():
        values = {"figure": name, "models": MODELS} | data
        (root / "figures" / f"{name}.json").write_text(json.dumps(values))
    trees = {"MR": {"positive": 5, "negative": 4}, "SUBJ": {"subjective": 3, "objective": 0}}
    (root / "trees.json").write_text(json.dumps(trees))
    (root / "sizes.json").write_text(json.dumps(SIZES))
    return root


@pytest.fixture(scope="module")
def report(full: Path) -> Report:
    return report_of(full)


def test_nothing_has_been_run(tmp_path: Path) -> None:
    report = report_of(tmp_path)
    short = words(report, "In short")
    assert "0 of 60 cells of Table 2" in short
    assert "0 of 30 cells of Table 3" in short
    assert "AdaSent has no finished cell yet" in short
    claims = words(report, "What the paper claims")
    assert claims.count("not measured yet") == 7
    assert "holds |" not in claims
    assert "No ablation has been run yet." in words(report, "What makes it win")
    assert words(report, "Figures").count("has not been computed yet") == 4
    assert "No runs are recorded yet." in words(report, "Cost")
    assert report.pictures() == []


def test_short(report: Report) -> None:
    short = words(report, "In short")
    assert (
        "60 of 60 cells of Table 2 with random folds have all their runs (the paper fills 47)"
        in (short)
    )
    assert "36 of 36 with grouped folds, and 30 of 30 cells of Table 3" in short
    assert "AdaSent reaches 90.0 on MR (+6.90)" in short
    assert "below the paper's figure on 3 of 5 sets" in short
    assert "AdaSent leads cBoW on 5 of 5 sets; the paired tests support it on 5." in short
    assert "AdaSent on MR, AdaSent on CR" in short
    assert "Highest mean of the 2 networks with at most 100,000 parameters" in short
    assert (
        "for AdaSent: AdaSent on MR, CR, SUBJ, MPQA and TREC. Larger than that: CNN (400,100)."
        in short
    )
    assert "the systems change by −5.00 points, in the median by −5.00" in short


def test_systems_made_as_small(tmp_path: Path) -> None:
    store = Store(tmp_path)
    counts = {"default": (80, 82, 81), "brnn-as-small": (90, 92, 91), "cnn-as-small": (70, 71, 72)}
    more = {"brnn-as-small": {"of": "brnn"}, "cnn-as-small": {"of": "cnn"}, "default": {}}
    for data, step in (("MR", 1), ("CR", 0)):
        for name, ns in counts.items():
            for fold, n in enumerate(ns):
                right = np.arange(100) < (n if step else 50 + 10 * fold)
                record = made_up(name, data, right, table="ablations", fold=fold, n_folds=3)
                record = replace(record, spec=record.spec | more[name])
                store.add(Unit("ablations", name, data, "random", fold, 3, 0), record)
    small = {name: {"word": 50, "network": {"2": 6_000}} for name in counts}
    (tmp_path / "sizes.json").write_text(json.dumps(SIZES | small))
    short = words(report_of(tmp_path), "In short")
    assert "BRNN made as small as AdaSent, with one setting each: above it on MR and" in short
    assert "CNN made as small as AdaSent, with one setting each: below it on MR and" in short
    assert short.count("no different on CR as far as the intervals show.") == 2
    too_large = {"cnn-as-small": {"word": 50, "network": {"2": 7_000}}}
    (tmp_path / "sizes.json").write_text(json.dumps(SIZES | small | too_large))
    assert "CNN made as small" not in words(report_of(tmp_path), "In short")


def test_claims_that_hold(report: Report) -> None:
    claims = words(report, "What the paper claims")
    assert "ahead in 25 of 25 pairs of rival and set, supported in 25, the opposite in 0" in claims
    assert "rank 1 of 12 with random folds, rank 1 of 12 with grouped folds | holds" in claims
    assert "at most 6,600 with the default settings; CNN 400,100 | holds" in claims
    assert "highest mean on MR, CR, SUBJ and MPQA | holds" in claims
    assert "higher mean in 25 of 25 pairs" in claims


def test_claims_that_do_not_hold(tmp_path: Path) -> None:
    rates = {"adasent": 0.7, "cnn": 0.9, "grconv": 0.5, "paragraph-vector": 0.8}
    add_cells(tmp_path, lambda system, data, rule: rates.get(system, 0.705))
    report = report_of(tmp_path)
    short, claims = words(report, "In short"), words(report, "What the paper claims")
    assert "AdaSent leads GrConv on 5 of 5 sets; the paired tests support it on 5." in short
    assert (
        "AdaSent leads P.V. on 0 of 5 sets; the paired tests support it on 0, and the opposite on "
        "MR, CR, SUBJ, MPQA and TREC." in short
    )
    rows = [line for line in claims.splitlines() if line.startswith("| “") or "Best of" in line]
    verdicts = [row.rsplit("|", 2)[1].strip() for row in rows]
    assert verdicts == [
        "does not hold",  # ahead of GrConv alone
        "holds",
        "does not hold",
        "does not hold",
        "does not hold",
        "does not hold",  # P.V. is not the worst on MPQA
    ]
    assert "highest mean on none of them; significantly above it: CNN and P.V. on MR" in claims
    variance = words(report, "Model variance")
    assert "CNN" not in variance
    assert (
        "P.V.: AdaSent has a smaller spread or a higher mean on 0 of 5 sets, not on MR" in variance
    )


def test_a_claim_with_some_sets_open(tmp_path: Path) -> None:
    add_cells(tmp_path, leading)
    for path in tmp_path.glob("table2/*/CR-random.jsonl"):
        path.unlink()
    claims = words(report_of(tmp_path), "What the paper claims")
    assert "ahead on 4 of 4 sets, supported on 4" in claims
    assert "| holds so far |" in claims


def test_fair_chances(tmp_path: Path, full: Path) -> None:
    def share(system: str, data: str, rule: str) -> float:
        return {"nbsvm": 0.78, "mnb": 0.95, "rnn": 0.6, "grconv": 0.95}.get(system, 0.9)

    add_cells(tmp_path, share)
    text = words(report_of(tmp_path), "Where ours and the paper's figures differ")
    assert "more than 1.3 points below on MR, CR, SUBJ and MPQA" in text
    assert "MNB against Wang and Manning's own figures: +16.00 on MR" in text
    assert "nowhere more than 1.3 points below." in text
    assert "more than 4 points below the paper on MR, CR, SUBJ, MPQA and TREC, with what" in text
    assert "GrConv: +18.70 on MR" in text
    assert "The paper leaves 13 of 60 cells empty" in text
    assert "dev part, where we choose, differs from that on the test fold by +1.00 on MR" in text
    assert "most frequent class" not in text  # nobody has looked at the sets
    # The audit of MPQA names 57 % of its texts, all systems have 70 % there or more.
    assert "in all 10 finished cells" in words(
        report_of(full), "Where ours and the paper's figures differ"
    )


def test_a_network_hardly_above_the_majority(full: Path, tmp_path: Path) -> None:
    add_cells(tmp_path, lambda system, data, rule: 0.6 if system == "rae" else 0.9)
    (tmp_path / "table1").mkdir()
    found = (full / "table1" / "MPQA.json").read_text()
    (tmp_path / "table1" / "MPQA.json").write_text(found)
    text = words(report_of(tmp_path), "Where ours and the paper's figures differ")
    assert "most frequent class: RAE on MPQA (60.0, majority 57.1)." in text


def test_repeats(report: Report) -> None:
    text = words(report, "Where ours and the paper's figures differ")
    assert "Repeats in MPQA. With grouped folds 12 systems change by −5.00 points" in text
    assert text.count("Random folds flatter") == 1


def test_protocol(report: Report, tmp_path: Path) -> None:
    text = words(report, "Protocol")
    assert "10 stratified folds, seed 0" in text
    assert "P.V. never saw a test text" in text
    assert "Trees of MV-RecNN: MR, CR, SUBJ, MPQA and TREC: span parser." in text
    assert "9 of MR and 3 of SUBJ" in text
    assert "(SUBJ: all 3 are subjective)" in text
    assert "agree in vectors, words and epochs" in text
    assert "Default settings of AdaSent: hidden_size 7, pooling mean." in text
    assert "| NB-SVM | defaults (18) |" in text


def test_extra_words_are_told(full: Path) -> None:
    plan = experiments()
    plan = replace(plan, protocol=replace(plan.protocol, extra_words=5000))
    text = words(build_report(Catalog(full, plan)), "Protocol")
    assert "the 5,000 most frequent words of the vectors" in text


@pytest.mark.parametrize(
    ("once", "again", "said"),
    [
        ([1, 1], [1, 0], "they change by −50.00 points in the mean of 1 cell, 0 up and 1 down"),
        ([1, 0], [1, 1], "they gain 50.00 points in the mean of 1 cell"),
    ],
)
def test_second_trainings(once: list[int], again: list[int], said: str, tmp_path: Path) -> None:
    record = made_up("cbow", "TREC", again, table="refit", n_folds=1)
    before = made_up("cbow", "TREC", once, table="refit", n_folds=1).predicted
    unit = Unit("refit", "cbow", "TREC", "random", 0, 1, 0)
    Store(tmp_path).add(unit, replace(record, before=before))
    text = words(report_of(tmp_path), "Protocol")
    assert said in text
    assert "Networks trained again on both parts" in text


def test_records_made_otherwise_are_named(tmp_path: Path) -> None:
    add_cells(tmp_path, leading)
    store = Store(tmp_path)
    record = made_up("cbow", "TREC", [1, 0], n_folds=1, vectors=[{"name": "other"}])
    store.add(Unit("table2", "cbow", "TREC", "random", 0, 1, 0), record)
    text = words(report_of(tmp_path), "Protocol")
    assert "Not so in 1 cell of Table 2" in text
    assert "cbow on TREC, random." in text


def test_sets(report: Report) -> None:
    text = words(report, "The sets and their traps")
    assert "MPQA: the paper counts 10,099 texts, the public copy has 14" in text
    assert "repeats of an earlier text: 9 of 14" in text
    assert "texts with more than one label: 1" in text
    assert "characters of a wrong encoding (U+FFFD): 2" in text
    assert "without a word after cleaning, kept: 2" in text
    assert "nothing to compose: 6 (42.9 %)" in text


def test_ablations_and_cost(report: Report) -> None:
    text = words(report, "What makes it win")
    assert "Loses on every set: “words only” (−31.00)." in text
    assert "Gains" not in text
    cost = words(report, "Cost")
    assert "| Table 3 | cpu | 300 | 300 | 0.08 |" in cost
    assert "| Ablations | cpu | 6 | 6 | 0.00 |" in cost


def test_variants_are_grouped_by_what_is_supported() -> None:
    def change(mean: float, half: float = 0.1) -> Summary:
        return Summary(3, mean / 100, 0.1, (mean - half) / 100, (mean + half) / 100)

    lines = list(
        _findings(
            {
                "a": [change(-1.0), change(-0.2)],
                "b": [change(-3.0), change(0.0)],
                "c": [change(1.0), change(-1.0)],
                "d": [change(0.5), change(0.5)],
                "e": [change(0.05), change(-0.05)],
                "f": [change(2.0), change(0.0, 1.0)],
                "g": [change(-4.0), change(0.1, 1.0)],
            }
        )
    )
    assert lines == [
        "Loses on every set: “a” (−0.60).",
        "Loses on some: “g” (−1.95; 1 of 2 sets) and “b” (−1.50; 1 of 2 sets).",
        "Gains on some: “f” (+1.00; 1 of 2 sets).",
        "Gains on every set: “d” (+0.50).",
        "Gains on some sets and loses on others: “c” (+0.00).",
        "No difference shown on any set: “e” (+0.00).",
    ]


def test_captions(report: Report) -> None:
    text = words(report, "Figures")
    assert "the most believed level is one of 2 (1 and 2); as the paper says" in text
    assert "1 of 3 levels are right by themselves. Level 1 is believed the most (as in" in text
    assert "the consensus is right, p(positive) = 0.45" in text
    assert "SUBJ 90.0 (AdaSent) against 60.0 (cBoW)" in text
    assert "further apart on 1 of 1 set." in text
    assert "weights sum to 1 within 0 and which make up the unit within 1e-17" in text
    assert "9 trees, whose vectors miss the unit by up to 2e-03" in text


def test_captions_of_other_outcomes(full: Path, tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    belief = {"rows": [{"data": "MR", "text": "a", "beliefs": [0.9, 0.1]}] * 2}
    other = FIGURES["fig-example"] | {"beliefs": [0.1, 0.1, 0.8], "probability": 0.7}
    for name, data in {"fig-belief": belief, "fig-example": other}.items():
        values = {"figure": name, "models": MODELS} | data
        (tmp_path / "figures" / f"{name}.json").write_text(json.dumps(values))
    text = words(report_of(tmp_path), "Figures")
    assert "is 1 in every one of them; the paper says that beliefs vary" in text
    assert (
        "Level 3 is believed the most (in the paper it is the first); the consensus is wrong"
        in (text)
    )


class Tags(HTMLParser):
    """Fails on tags that do not close in order; keeps what is asked for from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.sources += [value or "" for name, value in attrs if name == "src"]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_nothing_else(report: Report) -> None:
    page = to_html(report)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert len(tags.sources) == len(report.pictures()) == 5
    assert all(source.startswith("data:image/svg+xml;base64,") for source in tags.sources)
    assert 'href="http' not in page
    for section in report.sections:
        assert page.count(f">{section.title}</h2>") == 1


def test_markdown_links_pictures(report: Report) -> None:
    text = to_markdown(report)
    for picture in report.pictures():
        assert f"](pictures/{picture.name}.svg)" in text
    assert "```sh\nadasent reproduce table2 --rerun --sets MR --systems adasent" in text


def test_code_and_signs_are_escaped() -> None:
    page = to_html(Report("a < b", "`x` & y", (Section("A", (Prose("1 < 2"), Points(("<b>",)))),)))
    assert "<title>a &lt; b</title>" in page
    assert "<p><code>x</code> &amp; y</p>" in page
    assert "<li>&lt;b&gt;</li>" in page


def test_readme(full: Path, tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(f"Before.\n\n{BEGIN}\nstale\n{END}\n\nAfter.\n")
    table = short_table2(Catalog(full, experiments()).results, SIZES)
    fill_readme(path, table)
    once = path.read_text()
    assert "| **AdaSent** | **90.0** |" in once
    assert "| 6,600 |" in once
    assert "stale" not in once
    assert once.startswith("Before.\n")
    assert once.endswith("\n\nAfter.\n")
    fill_readme(path, table)
    assert path.read_text() == once


@pytest.mark.parametrize("text", ["", BEGIN, END, f"{END} {BEGIN}", f"{BEGIN} {BEGIN} {END}"])
def test_readme_without_marks(tmp_path: Path, text: str) -> None:
    path = tmp_path / "README.md"
    path.write_text(text)
    table = short_table2(Catalog(tmp_path, experiments()).results, {})
    with pytest.raises(ConfigError, match="once each"):
        fill_readme(path, table)
    assert path.read_text() == text
