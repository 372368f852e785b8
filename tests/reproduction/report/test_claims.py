"""What the page says is true of the committed records.

A claim is quoted as it stands in the template. When a test fails, its name is the sentence that the
records no longer bear out: correct the sentence in template.md, and the claim here.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import pytest

from reproduction.ablation_table import supported
from reproduction.catalog import Catalog
from reproduction.cells import OURS, Place
from reproduction.paper import paper_accuracy
from reproduction.report.build import template
from reproduction.report.slots import dev_gap, n_capped
from reproduction.report.tables import survivors

SETS = {"MR", "CR", "SUBJ", "MPQA", "TREC"}
GROUPED = {"CR", "MPQA", "TREC"}
ABLATED = SETS - {"SUBJ"}
FOUR_RIVALS = ("paragraph-vector", "cbow", "rnn", "grconv")


def mean(c: Catalog, system: str, data: str, rule: str = "random") -> float:
    found = c.results.mean(system, data, rule)
    assert found is not None
    return found


def leads(c: Catalog, rival: str) -> dict[str, float]:
    """AdaSent less the rival in points, random folds."""
    return {data: mean(c, OURS, data) - mean(c, rival, data) for data in SETS}


def marked(c: Catalog, rival: str, sign: int, rule: str = "random") -> set[str]:
    """Sets on which both tests support that AdaSent is ahead (1) or behind (-1)."""
    tests = {data: c.results.test(rival, data, rule) for data in c.sets}
    return {
        data
        for data, test in tests.items()
        if test is not None and test.supported and sign * test.bootstrap.difference > 0
    }


def rank(c: Catalog, data: str, rule: str = "random") -> int:
    ours = mean(c, OURS, data, rule)
    return 1 + sum(mean(c, system.name, data, rule) > ours for system in c.systems)


def below_paper(c: Catalog, points: float) -> set[tuple[str, str]]:
    """Rows and sets on which ours is that much below the paper."""
    return {
        (system.title, data)
        for system in c.systems
        for data in SETS
        if (said := paper_accuracy(system.title, data)) is not None
        and mean(c, system.name, data) < said - points
    }


def regrouped(c: Catalog, system: str, data: str) -> float:
    return mean(c, system, data, "grouped") - mean(c, system, data)


def shown(c: Catalog, variant: str, sign: int) -> set[str]:
    """Sets on which the interval of a variant less the default leaves zero out."""
    changes = {data: c.ablations.difference(Place(variant, data, "random")) for data in ABLATED}
    assert None not in changes.values()
    return {d for d, one in changes.items() if one and supported(one) and sign * one.mean > 0}


def changes(c: Catalog, variant: str) -> list[float]:
    found = [c.ablations.difference(Place(variant, data, "random")) for data in ABLATED]
    return [100 * one.mean for one in found if one is not None]


def higher_in_table3(c: Catalog, rival: str) -> set[str]:
    scores = c.variance.scores
    return {d for d in SETS if sum(scores[OURS, d]) > sum(scores[rival, d])}


def devices(c: Catalog, table: str) -> dict[tuple[str, str, str], set[str]]:
    """By system, set and rule."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for record in c.records[table]:
        place = (record.spec["system"], record.data, record.rule)
        found.setdefault(place, set()).add(record.device.split(",")[0])
    return found


def protocol(c: Catalog) -> tuple[object, ...]:
    p = c.plan.protocol
    return p.n_folds, p.fold_seed, p.official_seeds, p.dev_fraction, p.n_settings, p.grouped


def same_spec(c: Catalog, *names: str) -> bool:
    """Whether all networks of Table 2 have the same values there."""
    specs = [r.spec for r in c.records["table2"] if "vectors" in r.spec]
    return all([spec[n] for n in names] == [specs[0][n] for n in names] for spec in specs)


def variant_defaults(c: Catalog, name: str) -> tuple[float, float]:
    (spec, *_) = [r.spec for r in c.records["ablations"] if r.spec["system"] == name]
    return spec["defaults"]["learning_rate"], spec["defaults"]["vector_dropout"]


def cut_down_is_ahead(c: Catalog) -> bool:
    small = {
        data: 100 * statistics.fmean(c.ablations.others[place].test.values())
        for data in ABLATED
        if (place := Place("brnn-as-small", data, "random"))
    }
    return all(small[data] > mean(c, OURS, data) for data in ABLATED)


def first_fold_alone(c: Catalog) -> bool:
    ours, theirs = (c.results.runs[Place(s, "CR", "random")].records for s in (OURS, "brnn"))
    pairs = zip(ours, theirs, strict=True)
    return [a.fold for a, b in pairs if a.accuracy > b.accuracy] == [0]


def dev_is_by_history(c: Catalog, *, on_cpu: bool) -> bool:
    """Whether the dev figures of ablations are those of the history, from before the rounding."""
    rows = [r for r in c.records["ablations"] if (r.device == "cpu") is on_cpu]
    return all(
        abs(r.tried[0]["accuracy"] - r.history[r.best_epoch]["valid_accuracy"]) < 2e-5 for r in rows
    )


def most_believed(c: Catalog) -> set[int]:
    rows = (c.figure("fig-belief") or {})["rows"]
    return {1 + row["beliefs"].index(max(row["beliefs"])) for row in rows}


def example(c: Catalog) -> tuple[object, ...]:
    data = c.figure("fig-example") or {}
    beliefs, votes = data["beliefs"], data["level_probabilities"]
    right = [level for level, vote in enumerate(votes, start=1) if vote < 0.5]
    top = 1 + beliefs.index(max(beliefs))
    return data["label"], top, len(votes), right, 0.45 < data["probability"] < 0.5


def further_apart(c: Catalog) -> set[str]:
    panels = (c.figure("fig-pca") or {})["panels"]
    apart = {(panel["data"], panel["system"]): panel["separated"] for panel in panels}
    return {data for data, _ in apart if apart[data, "AdaSent"] > apart[data, "cBoW"]}


def shares_unseen(c: Catalog) -> list[float]:
    return [p["n_unseen"] / p["n"] for p in (c.figure("fig-pca") or {})["panels"]]


def phrases(c: Catalog) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (c.figure("fig-composition") or {})["phrases"]
    return found


ALIKE = ("mean-pooling", "no-level-norm", "no-copy-bias", "no-fine-tuning", "loss-on-each-level")
ALIKE += ("more-word-dropout", "no-word-dropout")
PARTS = ("no-level-gate", "fixed-local-gates", "words-only")
ON_CPU = {"default", "fewer-words", "brnn-as-small", "cnn-as-small"}

CLAIMS: dict[str, Callable[[Catalog], bool]] = {
    # In short
    "ours is two to four points lower on four sets and level on TREC": lambda c: (
        {data for title, data in below_paper(c, 1.95) if title == "AdaSent"} == SETS - {"TREC"}
        and "AdaSent" not in dict(below_paper(c, 4))
        and abs(mean(c, OURS, "TREC") - (paper_accuracy("AdaSent", "TREC") or 0)) < 0.5
    ),
    "BRNN is ahead of AdaSent on all five sets, and has the highest mean of all twelve systems": (
        lambda c: all(
            mean(c, "brnn", d) == max(mean(c, s.name, d) for s in c.systems) > mean(c, OURS, d)
            for d in SETS
        )
    ),
    "Both paired tests support each of these leads": lambda c: marked(c, "brnn", -1) == SETS,
    "only the one on MR is left": lambda c: (
        {p for p in survivors(c) if p.system == "brnn"} == {Place("brnn", "MR", "random")}
    ),
    "AdaSent is ahead of P.V., cBoW, RNN and GrConv on all five sets.": lambda c: all(
        min(leads(c, rival).values()) > 0 for rival in FOUR_RIVALS
    ),
    "The tests support 18 of these 20 leads.": lambda c: (
        sum(len(marked(c, rival, 1)) for rival in FOUR_RIVALS) == 18
    ),
    "on four sets, with both tests on SUBJ and TREC, and behind it on MPQA": (
        lambda c: (
            {d for d, lead in leads(c, "cnn").items() if lead > 0} == {"MPQA"}
            and marked(c, "cnn", -1) == {"SUBJ", "TREC"}
        )
    ),
    "BRNN still has more than AdaSent on all four sets measured": cut_down_is_ahead,
    "the leads on MR and TREC are beyond chance, and on CR and MPQA the two are not told apart": (
        lambda c: (
            shown(c, "brnn-as-small", 1) == {"MR", "TREC"} and not shown(c, "brnn-as-small", -1)
        )
    ),
    "NB-SVM and MNB lose two points there and no network more than half a point": lambda c: (
        all(-2.1 < regrouped(c, system, "MPQA") < -1.8 for system in ("nbsvm", "mnb"))
        and all(regrouped(c, system.name, "MPQA") > -0.505 for system in c.networks)
    ),
    # What the paper claims
    "(GrConv, MR) to": lambda c: (
        min(lead for rival in FOUR_RIVALS for lead in leads(c, rival).values())
        == leads(c, "grconv")["MR"]
    ),
    "points (P.V., MPQA)": lambda c: (
        max(lead for rival in FOUR_RIVALS for lead in leads(c, rival).values())
        == leads(c, "paragraph-vector")["MPQA"]
    ),
    "on MR, which the tests do not support": lambda c: marked(c, "grconv", 1) == SETS - {"MR"},
    "second of twelve with random folds, third with grouped folds": lambda c: (
        (rank(c, "MPQA"), rank(c, "MPQA", "grouped"), len(c.systems)) == (2, 3, 12)
    ),
    "the lowest of twelve": lambda c: (
        mean(c, "paragraph-vector", "MPQA") == min(mean(c, s.name, "MPQA") for s in c.systems)
    ),
    "the highest mean of six on CR, second to BRNN on the other four sets": lambda c: (
        higher_in_table3(c, "brnn") == {"CR"}
        and all(higher_in_table3(c, rival) == SETS for rival in FOUR_RIVALS)
        and len(c.robust_systems) == 6
    ),
    "is not behind it (section Ablations)": lambda c: not shown(c, "cnn-as-small", -1),
    "a pyramid cut off at phrases of three words shows no loss on any of four sets": lambda c: (
        not shown(c, "at-most-3-words", -1)
    ),
    # Protocol
    "10 stratified folds, seed 0, the same for all systems": lambda c: (
        protocol(c) == (10, 0, 10, 0.1, 3, ("CR", "MPQA", "TREC"))
    ),
    "at most 20 epochs; a network stops after 5 without a better dev score": lambda c: (
        (c.plan.protocol.epochs, c.plan.protocol.patience) == (20, 5)
        and same_spec(c, "epochs", "patience")
    ),
    "every network reads the same three files side by side, 556 dimensions in all": lambda c: (
        same_spec(c, "vectors", "extra_words") and c.sizes[OURS]["word"] == 556
    ),
    "all of them subjective": lambda c: c.trees["SUBJ"]["objective"] == 0,
    "but for AdaSent on MPQA, which ran on a CPU under both fold rules": lambda c: (
        {
            place
            for place, found in devices(c, "table2").items()
            if c.plan.system(place[0]).vectors and found != {"NVIDIA H200"}
        }
        == {(OURS, "MPQA", "random"), (OURS, "MPQA", "grouped")}
    ),
    # The sets
    "and one text without a word after cleaning": lambda c: c.audits["CR"].n_wordless == 1,
    "MR has one repeat, SUBJ none": lambda c: (
        [c.audits[d].n - c.audits[d].words.n_distinct for d in ("MR", "SUBJ")] == [1, 0]
    ),
    # Accuracy
    "One of them is BRNN's lead on MR; all others are leads of AdaSent. No comparison with CNN or "
    "DCNN is left.": lambda c: (
        {p for p in survivors(c) if p.data not in marked(c, p.system, 1, p.rule)}
        == {Place("brnn", "MR", "random")}
        and not {p.system for p in survivors(c)} & {"cnn", "dcnn"}
    ),
    "On CR and TREC no system changes by a full point": lambda c: all(
        abs(regrouped(c, system.name, data)) < 1 for system in c.systems for data in ("CR", "TREC")
    ),
    "networks change by {{ regrouped.RAE": lambda c: (
        min(c.networks, key=lambda s: regrouped(c, s.name, "MPQA")).title == "RAE"
        and max(c.networks, key=lambda s: regrouped(c, s.name, "MPQA")).title == "GrConv"
    ),
    "BRNN stays ahead of AdaSent with both tests on all three sets": lambda c: (
        marked(c, "brnn", -1, "grouped") == GROUPED
    ),
    # Where ours and the paper's figures differ
    "More than a point below the figure in the paper are P.V. on TREC": lambda c: (
        {place for place in below_paper(c, 1) if place[0] != "AdaSent"}
        == {("P.V.", "TREC"), ("P.V.", "MR"), ("P.V.", "CR"), ("RNN", "CR"), ("GrConv", "CR")}
        | {("CNN", "MR"), ("DCNN", "TREC"), ("MNB", "MPQA")}
    ),
    "Our AdaSent is more than a point below it on four sets": lambda c: (
        len([1 for title, _ in below_paper(c, 1) if title == "AdaSent"]) == 4
    ),
    "points more than on the test part": lambda c: sum(dev_gap(c, d) > 0 for d in SETS) == 4,
    # Model variance
    "and against BRNN on CR alone, 21 of 25 pairs": lambda c: (
        sum(len(higher_in_table3(c, rival)) for rival in (*FOUR_RIVALS, "brnn")) == 21
        and higher_in_table3(c, "brnn") == {"CR"}
    ),
    "All runs are on one split, the first fold": lambda c: (
        {record.fold for record in c.records["table3"]} == {0}
    ),
    "the first fold is the only one of ten in Table 2 on which AdaSent is ahead of BRNN": (
        first_fold_alone
    ),
    # Ablations
    "equal belief in every level loses on MR and TREC, fixed local gates on TREC, words alone on "
    "CR and TREC": lambda c: (
        [shown(c, name, -1) for name in PARTS] == [{"MR", "TREC"}, {"TREC"}, {"CR", "TREC"}]
    ),
    "Nowhere is it more than about two points": lambda c: (
        min(change for name in PARTS for change in changes(c, name)) > -2.1
    ),
    "A pyramid of at most three words, or of at most seven, is not told apart from the whole one "
    "on any of the four sets": lambda c: (
        not any(shown(c, f"at-most-{n}-words", sign) for n in (3, 7) for sign in (1, -1))
    ),
    "Nor are mean pooling, no level norm, no copy bias, no tuning of the word vectors, a loss on "
    "each level, and more or no word dropout": lambda c: (
        not any(shown(c, name, sign) for name in ALIKE for sign in (1, -1))
    ),
    "loses two to three points on every set": lambda c: (
        shown(c, "vectors-wiki-50d", -1) == ABLATED
        and all(-3 < change < -2 for change in changes(c, "vectors-wiki-50d"))
    ),
    "also have twice the learning rate (0.001) and less vector dropout (0.3 in place of 0.5)": (
        lambda c: (
            variant_defaults(c, "default") == (0.0005, 0.5)
            and variant_defaults(c, "vectors-wiki-50d") == (0.001, 0.3)
            and variant_defaults(c, "vectors-glove-100d") == (0.001, 0.3)
        )
    ),
    "The rows mix devices.": lambda c: all(
        found == ({"cpu"} if name in ON_CPU else {"NVIDIA H200"})
        for (name, *_), found in devices(c, "ablations").items()
    ),
    "figures are from after the rounding of the vectors, those of the others from before": (
        lambda c: dev_is_by_history(c, on_cpu=False) and not dev_is_by_history(c, on_cpu=True)
    ),
    "are above its default on MR and TREC as far as the intervals show, and not told apart from it "
    "on CR and MPQA": lambda c: all(
        shown(c, name, 1) == {"MR", "TREC"} and not shown(c, name, -1)
        for name in ("brnn-as-small", "cnn-as-small")
    ),
    # Figures
    "The most believed level is 1, 2, 4, 6 or 12": lambda c: most_believed(c) == {1, 2, 4, 6, 12},
    "Here the second level is believed most": lambda c: (
        example(c) == ("negative", 2, 27, [1, 3, 4, 5, 6, 7, 8], True)
    ),
    "As nine in ten texts are training texts": lambda c: all(
        0.08 < share < 0.11 for share in shares_unseen(c)
    ),
    "AdaSent's classes stand further apart on MPQA alone": lambda c: further_apart(c) == {"MPQA"},
    "The parts of both phrases make up their unit to within 1e-15": lambda c: all(
        phrase["unit_error"] < 1e-15 for phrase in phrases(c)
    ),
    "composed along its 12 trees, “not very good” misses its unit by up to 0.1": lambda c: (
        len(phrases(c)[0]["trees"]) == 12 and round(phrases(c)[0]["tree_error"], 1) == 0.1
    ),
    # Limits
    "The cap of 20 epochs binds on TREC.": lambda c: (
        sorted(s.name for s in c.networks if n_capped(c, s.name) == 0) == ["mv-recnn"]
    ),
    "Second trainings know 30,000 further words": lambda c: c.refits.extra_words == [30_000],
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_records_bear_it_out(catalog: Catalog, claim: str) -> None:
    assert CLAIMS[claim](catalog), f"no longer true of the records: {claim}"


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_page_says_it(claim: str) -> None:
    assert " ".join(template().split()).count(claim) == 1
