"""What the page says in its own words is true of the committed records.

Sentences on who leads where are computed (``test_summary.py``). A claim here is quoted as it stands
in the template. When a test fails, its name is the sentence that the records no longer bear out:
correct the sentence in template.md, and the claim here.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reproduction.catalog import Catalog
from reproduction.cells import OURS
from reproduction.report.build import template


def protocol(c: Catalog) -> tuple[object, ...]:
    p = c.plan.protocol
    return p.n_folds, p.fold_seed, p.official_seeds, p.dev_fraction, p.n_settings, p.grouped


def same_spec(c: Catalog, *names: str) -> bool:
    """Whether all networks of Table 2 have the same values there."""
    specs = [r.spec for r in c.records["table2"] if "vectors" in r.spec]
    return all([spec[n] for n in names] == [specs[0][n] for n in names] for spec in specs)


def has_preset(c: Catalog) -> bool:
    base = c.plan.systems["adasent-paper"].base
    off = ("word_dropout", "vector_dropout", "dropout", "copy_bias", "level_norm", "level_loss")
    return (
        (base["gate_groups"], base["optimizer"], base["hidden_size"]) == (1, "adagrad", 100)
        and base["penalty"] > 0
        and not any(base[name] for name in off)
    )


CLAIMS: dict[str, Callable[[Catalog], bool]] = {
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
    "in the mean of nine networks and five sets": lambda c: (
        len([row for row in c.systems if row.refitted]) == 9
    ),
    "has one gate for all dimensions of a unit, AdaGrad, a penalty on the recurrent matrices, and "
    "no dropout, norm or start of the gates": has_preset,
    "the projection alone would have 309,136": lambda c: c.sizes[OURS]["word"] ** 2 == 309_136,
    "`paper-50d` with vectors of 50 dimensions, as in the paper, and `paper-wide` with D = 556": (
        lambda c: (
            c.sizes["paper-50d"]["word"] == 50
            and c.plan.ablations["paper-wide"].settings == {"hidden_size": 556}
        )
    ),
    "all of them subjective": lambda c: c.trees["SUBJ"]["objective"] == 0,
    "and one text without a word after cleaning": lambda c: c.audits["CR"].n_wordless == 1,
    "MR has one repeat, SUBJ none": lambda c: (
        [c.audits[d].n - c.audits[d].words.n_distinct for d in ("MR", "SUBJ")] == [1, 0]
    ),
    "The cap of 20 epochs may have cut networks off": lambda c: c.plan.protocol.epochs == 20,
    "Most ablations are on four of the five sets": lambda c: len(c.plan.protocol.ablated) == 4,
}

#: What an earlier page said and the records do not bear out.
WITHDRAWN = (
    "no text of the sets is looked at",
    "highest mean of the networks with at most",
    "makes it win",
    "fair chance",
    "smaller spread",
    "fewer parameters than any",
)


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_records_bear_it_out(catalog: Catalog, claim: str) -> None:
    assert CLAIMS[claim](catalog), f"no longer true of the records: {claim}"


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_page_says_it(claim: str) -> None:
    assert " ".join(template().split()).count(claim) == 1


def test_what_the_page_no_longer_says(page: str) -> None:
    assert not [words for words in WITHDRAWN if words in page]
