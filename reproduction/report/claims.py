"""The paper's claims, what was measured, and whether they hold: verdicts follow from records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from adasent.evaluation.summary import Summary
from reproduction.catalog import Catalog
from reproduction.cells import OURS, Place
from reproduction.render import Table
from reproduction.sizes import largest
from reproduction.specs import RULES, SystemSpec
from reproduction.standings import (
    Standing,
    by_interval,
    field,
    grouped_sets,
    leaders,
    rank,
    stand,
)
from reproduction.wording import EMPTY, cells, listed, signed

#: Rivals that the paper's authors measured themselves, in the order of their sentence.
MEASURED = ("paragraph-vector", "cbow", "rnn", "brnn", "grconv")
#: Variants that show what the levels are worth.
LEVELS = {
    "words-only": "words alone",
    "height-3": "phrases of at most three words",
    "root-only": "the root alone",
    "no-level-gate": "all levels believed alike",
}


class Verdict(NamedTuple):
    """What was measured, and whether the claim holds."""

    measured: str
    holds: str


def claims_table(catalog: Catalog) -> Table:
    """A line for each claim and each row of AdaSent that it can be measured on."""
    rows = []
    ours = [row for row in catalog.systems if row.in_paper == "AdaSent"]
    for claim, judge, is_of_one in _CLAIMS:
        for row in ours:
            if is_of_one and row.name != OURS:
                continue
            found = judge(catalog, row)
            who = EMPTY.text if is_of_one else row.title
            rows.append(cells(claim, who, *(found or (EMPTY.text, "not measured"))))
    notes = (
        "Bold: both paired tests support the difference; of variants of AdaSent, the 95 % interval "
        "leaves zero out. Verdicts are computed from these figures.",
    )
    head = ("Claim", "Row", "What we measured", "Does it hold?")
    title = "What the paper says of its Tables 2 and 3"
    return Table("claims", title, head, tuple(rows), notes, of_words=True)


def verdict(n: int, of: int, what: str = "sets") -> str:
    """``yes``, ``no``, or of how many."""
    if n in (0, of):
        return "yes" if n else "no"
    return f"on {n} of {of} {what}"


def _all_five(catalog: Catalog, row: SystemSpec) -> Verdict | None:
    titles = catalog.plan.systems
    found = {r: stand(catalog.results, row.name, r, catalog.sets) for r in MEASURED}
    pairs = [(v, titles[r].title, d) for r, s in found.items() for d, v in s.differences.items()]
    if not pairs:
        return None
    n_ahead = sum(len(one.ahead) for one in found.values())
    n_supported = sum(len(one.supported & set(one.ahead)) for one in found.values())
    (low, *of_low), (high, *of_high) = min(pairs), max(pairs)
    measured = (
        f"ahead in {n_ahead} of {len(pairs)} pairs of rival and set, with both tests in "
        f"{n_supported}; from {signed(low)} ({', '.join(of_low)}) to {signed(high)} "
        f"({', '.join(of_high)})"
    )
    beaten = [titles[r].title for r, one in found.items() if len(one.ahead) == len(catalog.sets)]
    if len(beaten) == len(MEASURED):
        every = n_supported == len(pairs)
        return Verdict(measured, "yes" if every else f"yes; {n_supported} leads are supported")
    others = [titles[r].title for r in MEASURED if titles[r].title not in beaten]
    return Verdict(measured, f"in part: not of {listed(others)}" if beaten else "no")


def _significantly(rival: str) -> Callable[[Catalog, SystemSpec], Verdict | None]:
    def judge(catalog: Catalog, row: SystemSpec) -> Verdict | None:
        found = stand(catalog.results, row.name, rival, catalog.sets)
        n = len(found.supported & set(found.ahead))
        held = verdict(n, len(found.differences))
        return Verdict(found.words(), held) if found.differences else None

    return judge


def _consistently(rival: str) -> Callable[[Catalog, SystemSpec], Verdict | None]:
    def judge(catalog: Catalog, row: SystemSpec) -> Verdict | None:
        found = stand(catalog.results, row.name, rival, catalog.sets)
        if not found.differences:
            return None
        n, n_supported = len(found.ahead), len(found.supported & set(found.ahead))
        held = verdict(n, len(found.differences))
        return Verdict(found.words(), f"{held}; {n_supported} supported" if n else held)

    return judge


def _best(catalog: Catalog, row: SystemSpec) -> Verdict | None:
    sets = [data for data in catalog.sets if data != "TREC"]
    if catalog.results.mean(row.name, sets[0]) is None:
        return None
    winners = leaders(catalog.results, field(catalog.results, row), sets)
    n = sum(title == row.title for title in winners.values())
    return Verdict(f"highest mean: {grouped_sets(winners)}", verdict(n, len(sets)))


def _best_on_mpqa(catalog: Catalog, row: SystemSpec) -> Verdict | None:
    rows = field(catalog.results, row)
    places = [rank(catalog.results, rows, row.name, "MPQA", rule) for rule in RULES]
    if None in places:
        return None
    words = [
        f"{place} of {len(rows)} with {rule} folds"
        for place, rule in zip(places, RULES, strict=True)
    ]
    return Verdict(f"place {listed(words)}", verdict(places.count(1), 2, "fold rules"))


def _paragraph_vector(catalog: Catalog, row: SystemSpec) -> Verdict | None:
    means = {s.name: catalog.results.mean(s.name, "MPQA") for s in catalog.systems}
    known = [mean for mean in means.values() if mean is not None]
    worst = means["paragraph-vector"]
    if worst is None:
        return None
    majority = 100 * catalog.audits["MPQA"].majority
    measured = (
        f"{worst:.1f}, {'the lowest' if worst == min(known) else 'not the lowest'} of {len(known)} "
        f"rows; always naming the larger class has {majority:.1f}"
    )
    return Verdict(measured, "yes" if worst == min(known) else "no")


def _robust(catalog: Catalog, row: SystemSpec) -> Verdict | None:
    leads = {
        (rival, data): lead
        for rival in MEASURED
        for data in catalog.sets
        if (lead := catalog.variance.lead(rival, data, row.name)) is not None
    }
    if not leads:
        return None
    behind: dict[str, list[str]] = {}
    for (rival, data), lead in leads.items():
        if lead <= 0:
            behind.setdefault(catalog.plan.systems[rival].title, []).append(data)
    n = sum(lead > 0 for lead in leads.values())
    measured = f"higher mean in {n} of {len(leads)} pairs of rival and set on the same folds"
    if behind:
        measured += "; not " + "; ".join(f"{t} on {listed(sets)}" for t, sets in behind.items())
    held = "yes" if not behind else f"in part: not of {listed(list(behind))}"
    return Verdict(measured, held if n else "no")


def _small(catalog: Catalog, row: SystemSpec) -> Verdict | None:
    n, cnn = largest(catalog.sizes, row.name), largest(catalog.sizes, "cnn")
    if n is None or cnn is None:
        return None
    measured = f"{n:,}, and CNN {cnn:,}"
    small = variant(catalog, "cnn-as-small").words()
    if row.name == OURS and small:
        cut = largest(catalog.sizes, "cnn-as-small")
        measured += f"; CNN cut down to {cut:,}, less AdaSent: {small}"
    held = "yes, as a count" if n < cnn else "no"
    return Verdict(measured, held if n <= 100_000 else f"{held}, but more than 100,000")


def _scales(catalog: Catalog, row: SystemSpec) -> Verdict | None:
    found = {name: variant(catalog, name) for name in LEVELS}
    known = {name: one for name, one in found.items() if one.differences}
    if not known:
        return None
    measured = "; ".join(f"{LEVELS[name]}: {one.words()}" for name, one in known.items())
    lost = [one.supported & set(one.behind) for one in known.values()]
    every = all(
        len(sets) == len(one.differences) for sets, one in zip(lost, known.values(), strict=True)
    )
    return Verdict(measured, "yes" if every else "in part" if any(lost) else "no")


def variant(catalog: Catalog, name: str) -> Standing:
    """A variant less AdaSent's default, run by run."""

    def change(data: str) -> Summary | None:
        return catalog.ablations.difference(Place(name, data, "random"))

    return by_interval(change, catalog.sets)


#: The claim, how it is judged, and whether it is the same for all rows of AdaSent.
_CLAIMS: Sequence[tuple[str, Callable[[Catalog, SystemSpec], Verdict | None], bool]] = (
    (
        "“AdaSent consistently outperforms P.V., cBoW, RNN, BRNN and GrConv by a large margin”",
        _all_five,
        False,
    ),
    (
        "“AdaSent significantly outperforms GrConv on all the data sets”",
        _significantly("grconv"),
        False,
    ),
    ("“AdaSent consistently outperforms BRNN on all data sets”", _consistently("brnn"), False),
    ("Best of all twelve systems on MR, CR, SUBJ and MPQA", _best, False),
    ("“AdaSent outperforms all the other models on the MPQA data set”", _best_on_mpqa, False),
    ("“P.V. performs worse than other methods on the MPQA data set”", _paragraph_vector, True),
    (
        "Over settings and initialisations “AdaSent consistently outperforms all the other "
        "competitor models on all the data sets” (Table 3)",
        _robust,
        False,
    ),
    (
        "“using much fewer parameters”: 10,000 to 100,000, where CNN has about 400,000",
        _small,
        False,
    ),
    (
        "“the variable length multi-scale representation is key to its success”",
        _scales,
        True,
    ),
)
