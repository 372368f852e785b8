"""Audits of the sets in; Table 1, the traps, and what they do to the figures, out."""

from __future__ import annotations

from adasent.data.audit import Audit
from reproduction.catalog import Catalog
from reproduction.paper import paper
from reproduction.report.blocks import Block, Points, Prose, Section
from reproduction.wording import listed

#: Share of single words from which a set is one of words rather than sentences.
_MANY = 0.05


def sets(catalog: Catalog) -> Section:
    """Table 1 and the traps."""
    audits = [(data, catalog.audits[data]) for data in catalog.sets if data in catalog.audits]
    points = [line for data, found in audits for line in _findings(data, found)]
    blocks: list[Block] = [
        Prose(
            "The files are public copies, pinned by sha256. `adasent data audit NAME` makes these "
            "figures for any set or file. Texts are compared by their words. A system that "
            "remembers its training texts gets repeats for nothing; grouped folds take that away."
        ),
        *catalog.tables("table1"),
    ]
    if points:
        blocks.append(Points(tuple(points)))
    return Section("The sets and their traps", tuple(blocks))


def _findings(data: str, found: Audit) -> list[str]:
    said = paper()["table1"][data]["N"]
    words, lengths = found.words, found.lengths
    lines = []
    if said != found.n:
        lines.append(
            f"{data}: the paper counts {said:,} texts, the public copy has {found.n:,}; no figure "
            "on this set is on the paper's texts."
        )
    if n_repeats := found.n - words.n_distinct:
        leaked = (
            f"{words.n_official:,} of the {found.n_test:,} official test texts stand in training"
            if words.n_official is not None
            else f"{100 * words.leakage:.1f} % of a random test fold stand in training, up to "
            f"{100 * words.worst_leakage:.1f} %"
        )
        lines.append(f"{data}: repeats of an earlier text: {n_repeats:,} of {found.n:,}; {leaked}.")
    if words.n_contradictory:
        lines.append(
            f"{data}: texts with more than one label: {words.n_contradictory:,}, in "
            f"{words.n_contradictory_rows:,} rows; nobody can have more than "
            f"{100 * words.best_accuracy:.2f} % right."
        )
    if found.n_wordless:
        lines.append(f"{data}: texts without a word after cleaning, kept: {found.n_wordless:,}.")
    if found.n_odd:
        codes = listed(list(found.odd)[:3])
        lines.append(
            f"{data}: texts with characters of a wrong encoding ({codes}): {found.n_odd:,}."
        )
    if lengths.n_single > _MANY * found.n:
        lines.append(
            f"{data}: texts of a single word, in which there is nothing to compose: "
            f"{lengths.n_single:,} ({100 * lengths.n_single / found.n:.1f} %)."
        )
    return lines
