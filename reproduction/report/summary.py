"""Finished cells in; the findings in short, and what becomes of each claim of the paper, out."""

from __future__ import annotations

import statistics

from reproduction.ablation_table import supported
from reproduction.catalog import Catalog
from reproduction.cells import OURS, Place
from reproduction.paper import paper, paper_accuracy
from reproduction.render import Cell, Table
from reproduction.report.blocks import Points, Prose, Section
from reproduction.report.findings import (
    differences_from_paper,
    grouped_changes,
    leaders,
    n_complete,
    standing,
    trained_by_the_paper,
)
from reproduction.sizes import largest
from reproduction.table3 import more_robust
from reproduction.wording import counted, listed, signed, span

HOLDS, PARTLY, FAILS, OPEN = "holds", "holds in part", "does not hold", "not measured yet"


def in_short(catalog: Catalog) -> Section:
    """The findings, the most important first."""
    found = [
        _completeness(catalog),
        _against_the_paper(catalog),
        *_against_rivals(catalog),
        *_leaders(catalog),
        *_small_leaders(catalog),
        *_as_small(catalog),
        *_folds(catalog),
    ]
    return Section("In short", (Points(tuple(found)),))


def claims(catalog: Catalog) -> Section:
    """Claims in the paper's words, what we measured, and whether they hold."""
    rows = [
        _claim_rivals(catalog),
        _claim_rival(
            catalog,
            "grconv",
            "“AdaSent significantly outperforms GrConv on all the data sets”",
        ),
        _claim_rival(catalog, "brnn", "“AdaSent consistently outperforms BRNN on all data sets”"),
        *_claim_best(catalog),
        _claim_mpqa(catalog),
        _claim_paragraph_vector(catalog),
        _claim_variance(catalog),
        *_claim_parameters(catalog),
    ]
    table = Table(
        "claims",
        "The paper's claims and what we measured",
        ("Claim", "Measured", "Verdict"),
        tuple((Cell(claim), Cell(measured), Cell(verdict)) for claim, measured, verdict in rows),
        of_words=True,
    )
    opening = (
        "The paper proposes a pyramid of gated compositions over all phrases of a sentence, each "
        "level of which votes, and reports accuracy on five sets beside eleven systems; six rows "
        "are quoted from the systems' own papers and five were trained by the authors. It does not "
        "report the settings tried, how epochs were chosen, spreads over folds, or tests. A claim "
        "holds here if it holds in every comparison that it is about, with both paired tests; in "
        "part, if AdaSent is at least ahead in most."
    )
    return Section("What the paper claims", (Prose(opening), table))


def _completeness(catalog: Catalog) -> str:
    results, grouped = catalog.results, catalog.plan.protocol.grouped
    both = [data for data in catalog.sets if data in grouped]
    rows = catalog.robust_systems
    n_variance = sum(
        catalog.variance.summary(system.name, data) is not None
        for system in rows
        for data in catalog.sets
    )
    n_all = len(results.systems) * len(results.sets)
    n_said = sum(
        paper_accuracy(system.title, data) is not None
        for system in results.systems
        for data in results.sets
    )
    return (
        f"{n_complete(results, 'random', results.sets)} of {n_all} cells of Table 2 with random "
        f"folds have all their runs (the paper fills {n_said}), "
        f"{n_complete(results, 'grouped', both)} of {len(results.systems) * len(both)} with "
        f"grouped folds, and {n_variance} of {len(rows) * len(catalog.sets)} cells of Table 3."
    )


def _against_the_paper(catalog: Catalog) -> str:
    results = catalog.results
    ours = catalog.plan.systems[OURS]
    differences = differences_from_paper(results, ours)
    if not differences:
        return "AdaSent has no finished cell yet."
    figures = listed(
        [
            f"{results.mean(OURS, data):.1f} on {data} ({signed(change / 100)})"
            for data, change in differences.items()
        ]
    )
    n_below = sum(change < 0 for change in differences.values())
    return (
        f"AdaSent reaches {figures}; in brackets the difference from the paper. It is below the "
        f"paper's figure on {n_below} of {counted(len(differences), 'set')}."
    )


def _against_rivals(catalog: Catalog) -> list[str]:
    lines = []
    for rival in trained_by_the_paper(catalog.systems):
        found = standing(catalog.results, rival)
        if not found.margins:
            continue
        behind = found.behind_supported
        lines.append(
            f"AdaSent leads {rival.title} on {len(found.ahead)} of "
            f"{counted(len(found.margins), 'set')}; the paired tests support it on "
            f"{len(found.ahead_supported)}"
            + (f", and the opposite on {listed(behind)}." if behind else ".")
        )
    return lines


def _leaders(catalog: Catalog) -> list[str]:
    results = catalog.results
    named = [
        f"{' and '.join(s.title for s in best)} on {data}"
        for data in results.sets
        if (best := leaders(results, data))
    ]
    return [f"Highest mean with random folds: {listed(named)}."] if named else []


def _small_leaders(catalog: Catalog) -> list[str]:
    """The same among networks of the size that the paper gives for AdaSent."""
    results, sizes = catalog.results, catalog.sizes
    _, limit = paper()["facts"]["parameters"]["AdaSent"]
    counts = [(s, n) for s in catalog.networks if (n := largest(sizes, s.name)) is not None]
    small = [system for system, n in counts if n <= limit]
    named: dict[str, list[str]] = {}
    for data in results.sets:
        means = {s.title: m for s in small if (m := results.mean(s.name, data)) is not None}
        if means:
            named.setdefault(max(means, key=means.__getitem__), []).append(data)
    if not named:
        return []
    best = listed([f"{title} on {listed(sets)}" for title, sets in named.items()])
    larger = listed([f"{s.title} ({n:,})" for s, n in counts if n > limit])
    return [
        f"Highest mean of the {counted(len(small), 'network')} with at most {limit:,} parameters "
        f"beside the word vectors, the most that the paper gives for AdaSent: {best}. Larger than "
        f"that: {larger}."
    ]


def _as_small(catalog: Catalog) -> list[str]:
    """How larger systems stand to AdaSent when they are made no larger than it."""
    found, limit = catalog.ablations, largest(catalog.sizes, OURS)
    lines = []
    for name, ablation in catalog.plan.ablations.items():
        n = largest(catalog.sizes, name)
        if limit is None or n is None or n > limit or ablation.system == OURS:
            continue
        places = [Place(name, data, "random") for data in catalog.sets]
        changes = {
            place.data: change
            for place in places
            if (change := found.difference(place)) is not None
        }
        shown = {data: change for data, change in changes.items() if supported(change)}
        parts = [
            f"{word} it on {listed(sets)}"
            for word, sign in (("above", 1), ("below", -1))
            if (sets := [data for data, change in shown.items() if sign * change.mean > 0])
        ]
        if rest := [data for data in changes if data not in shown]:
            parts.append(f"no different on {listed(rest)} as far as the intervals show")
        if parts:
            title = catalog.plan.systems[ablation.system].title
            lines.append(
                f"{title} made as small as AdaSent, with one setting each: {listed(parts)}."
            )
    return lines


def _folds(catalog: Catalog) -> list[str]:
    lines = []
    for data in catalog.plan.protocol.grouped:
        found, changes = catalog.audits.get(data), grouped_changes(catalog.results, data)
        if found is None or not changes or data not in catalog.sets:
            continue
        words = found.words
        leaked = words.leakage if words.official_leakage is None else words.official_leakage
        values = list(changes.values())
        lines.append(
            f"{data}: {100 * leaked:.1f} % of the tested texts stand word for word in training. "
            f"With grouped folds the systems change by {span(values, 2)} points, in the median by "
            f"{signed(statistics.median(values) / 100)}."
        )
    return lines


Claim = tuple[str, str, str]
"""The paper's words, ours, and the verdict."""


def _claim_rivals(catalog: Catalog) -> Claim:
    claim = "“AdaSent consistently outperforms P.V., cBoW, RNN, BRNN and GrConv by a large margin”"
    rivals = trained_by_the_paper(catalog.systems)
    found = [standing(catalog.results, rival) for rival in rivals]
    margins = [margin for one in found for margin in one.margins.values()]
    if not margins:
        return claim, "no finished cells", OPEN
    n_ahead = sum(len(one.ahead) for one in found)
    n_supported = sum(len(one.ahead_supported) for one in found)
    n_behind = sum(len(one.behind_supported) for one in found)
    measured = (
        f"ahead in {n_ahead} of {len(margins)} pairs of rival and set, supported in {n_supported}, "
        f"the opposite in {n_behind}; margins {span(margins)} points"
    )
    expected = len(rivals) * len(catalog.sets)
    return claim, measured, _verdict(n_ahead, n_supported, len(margins), expected)


def _claim_rival(catalog: Catalog, name: str, claim: str) -> Claim:
    systems = {system.name: system for system in catalog.systems}
    found = standing(catalog.results, systems[name]) if name in systems else None
    if found is None or not found.margins:
        return claim, "no finished cells", OPEN
    measured = (
        f"ahead on {len(found.ahead)} of {len(found.margins)} sets, supported on "
        f"{len(found.ahead_supported)}; margins {span(list(found.margins.values()))} points"
    )
    n = len(found.margins)
    n_sets = len(catalog.sets)
    return claim, measured, _verdict(len(found.ahead), len(found.ahead_supported), n, n_sets)


def _claim_best(catalog: Catalog) -> list[Claim]:
    rows = paper()["table2"]
    best = {data: max(row.get(data, 0.0) for row in rows.values()) for data in catalog.sets}
    best_there = [data for data in catalog.sets if rows["AdaSent"][data] == best[data]]
    if not best_there:
        return []
    claim = f"Best of all twelve systems on {listed(best_there)}"
    results = catalog.results
    finished = [data for data in best_there if leaders(results, data)]
    if not finished:
        return [(claim, "no finished cells", OPEN)]
    first = [d for d in finished if OURS in [system.name for system in leaders(results, d)]]
    beaten = {
        data: [s.title for s in results.systems if data in standing(results, s).behind_supported]
        for data in finished
    }
    measured = f"highest mean on {listed(first)}" if first else "highest mean on none of them"
    above = [f"{listed(names)} on {data}" for data, names in beaten.items() if names]
    if above:
        measured += f"; significantly above it: {listed(above)}"
    verdict = _verdict(len(first), len(first), len(finished), len(best_there))
    return [(claim, measured, verdict)]


def _claim_mpqa(catalog: Catalog) -> Claim:
    claim = "“AdaSent outperforms all the other models on the MPQA data set”"
    parts, verdicts = [], []
    for rule in ("random", "grouped"):
        ours = catalog.results.mean(OURS, "MPQA", rule)
        if ours is None:
            continue
        means = {s.title: catalog.results.mean(s.name, "MPQA", rule) for s in catalog.systems}
        rank = 1 + sum(mean > ours for mean in means.values() if mean is not None)
        n = sum(mean is not None for mean in means.values())
        parts.append(f"rank {rank} of {n} with {rule} folds")
        verdicts.append(rank == 1)
    if not parts:
        return claim, "no finished cells", OPEN
    return claim, ", ".join(parts), HOLDS if all(verdicts) else PARTLY if any(verdicts) else FAILS


def _claim_paragraph_vector(catalog: Catalog) -> Claim:
    claim = "“P.V. performs worse than other methods on the MPQA data set”"
    means = {s.name: catalog.results.mean(s.name, "MPQA") for s in catalog.systems}
    theirs = means.get("paragraph-vector")
    if theirs is None:
        return claim, "no finished cells", OPEN
    others = [m for name, m in means.items() if m is not None and name != "paragraph-vector"]
    n_worse = sum(mean < theirs for mean in others)
    audit = catalog.audits.get("MPQA")
    majority = "" if audit is None else f"; always naming one class has {100 * audit.majority:.1f}"
    measured = f"{theirs:.1f}, below {len(others) - n_worse} of {len(others)} others{majority}"
    return claim, measured, FAILS if n_worse else HOLDS


def _claim_variance(catalog: Catalog) -> Claim:
    claim = "Over settings and initialisations AdaSent “consistently outperforms” (Table 3)"
    rivals = [system for system in catalog.robust_systems if system.name != OURS]
    pairs = [(rival, data) for rival in rivals for data in catalog.sets]
    higher, robust = [], []
    for rival, data in pairs:
        ours = catalog.variance.summary(OURS, data)
        theirs = catalog.variance.summary(rival.name, data)
        if ours is not None and theirs is not None:
            higher.append(ours.mean > theirs.mean)
            robust.append(bool(more_robust(catalog.variance, rival.name, data)))
    if not higher:
        return claim, "no finished cells", OPEN
    measured = (
        f"higher mean in {sum(higher)} of {len(higher)} pairs of rival and set; higher mean or "
        f"smaller spread in {sum(robust)}"
    )
    return claim, measured, _verdict(sum(higher), sum(higher), len(higher), len(pairs))


def _claim_parameters(catalog: Catalog) -> list[Claim]:
    facts = paper()["facts"]["parameters"]
    (low, high), theirs = facts["AdaSent"], facts["CNN"]
    claim = (
        f"{low:,} to {high:,} parameters beside the word vectors, where CNN has about {theirs:,}"
    )
    ours, cnn = (largest(catalog.sizes, name) for name in (OURS, "cnn"))
    if ours is None or cnn is None:
        return []
    measured = f"at most {ours:,} with the default settings; CNN {cnn:,}"
    return [(claim, measured, HOLDS if ours <= high < cnn else FAILS)]


def _verdict(n_ahead: int, n_supported: int, n: int, n_expected: int) -> str:
    """Of a claim about ``n_expected`` comparisons, ``n`` of which are finished."""
    if n_supported == n:
        return HOLDS if n == n_expected else f"{HOLDS} so far"
    return PARTLY if 2 * n_ahead > n else FAILS
