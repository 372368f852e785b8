"""``adasent data audit``: repeats, contradictions, leaks and odd texts of a set or a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from adasent.cli.console import console, say, table
from adasent.cli.groups import spread
from adasent.cli.options import Data, Json, TokenizerName
from adasent.cli.reading import Reading

if TYPE_CHECKING:
    from adasent.data.audit import Audit

_MAX_CLASSES = 10
_MAX_ODD = 5
#: Fields of Repeats, counts and shares, as rows of a table.
_REPEATS = {
    "n_distinct": "different texts",
    "n_repeated": "rows that have a double",
    "n_contradictory": "texts with more than one {label}",
    "n_contradictory_rows": "rows of those",
    "best_accuracy": "best reachable accuracy",
    "leakage": "test rows seen in training, {n_folds} random folds",
    "worst_leakage": "  in the worst fold",
    "grouped_leakage": "  folds that keep equal words together",
    "n_official": "  official test part",
    "official_leakage": "  as a share",
}


@spread
def audit(
    data: Data,
    reading: Reading,
    tokenizer: TokenizerName = "words",
    folds: Annotated[int, typer.Option(help="How many folds to measure leakage on.")] = 10,
    seed: Annotated[int, typer.Option(help="Of the folds.")] = 0,
    as_json: Json = False,
) -> None:
    """Find repeats, contradictory labels, leakage between folds, and odd texts.

    Rows without a text or a label are counted and left out.

    \b
    Examples:
      adasent data audit MPQA
      adasent data audit reviews.csv --text review --label stars --json
    """
    from adasent.data.audit import audit as look_at

    # Rows that lack something are among what it is to find, so they never stop it.
    corpus = reading.load(data, notes=False, skip_missing=True)
    found = look_at(corpus, tokenizer=tokenizer, n_folds=folds, seed=seed)
    if as_json:
        say(json.dumps(found.to_dict(), indent=1))
    else:
        _print(found)


def _print(found: Audit) -> None:
    out = console()
    size = f"{found.n:,} texts" + (
        f", {found.n_test:,} of them for testing" if found.n_test else ""
    )
    say(f"{found.name}: {size}; words by the tokenizer {found.tokenizer}")
    say()
    classes = table("class", ">texts", ">share")
    for label, n in list(found.classes.items())[:_MAX_CLASSES]:
        classes.add_row(label, f"{n:,}", f"{n / found.n:.1%}")
    out.print(classes)
    if len(found.classes) > _MAX_CLASSES:
        say(f"and {len(found.classes) - _MAX_CLASSES} more")
    if found.label_sets is None:
        say(f"always naming the most frequent class: {found.majority:.1%} right")
    else:
        _print_sets(found, found.label_sets)
    say()
    label = "label" if found.label_sets is None else "set of labels"
    repeats = table("texts that are equal", ">as they stand", ">word for word")
    for field, title in _REPEATS.items():
        values = [getattr(one, field) for one in (found.text, found.words)]
        if None not in values:
            figures = (f"{v:,}" if isinstance(v, int) else f"{v:.1%}" for v in values)
            repeats.add_row(title.format(n_folds=found.n_folds, label=label), *figures)
    out.print(repeats)
    say()
    lengths = found.lengths
    shares = table("words", ">mean", *(f">{float(q):.0%}" for q in lengths.quantiles))
    shares.add_row("in a text", f"{lengths.mean:.1f}", *map(str, lengths.quantiles.values()))
    out.print(shares)
    say(f"{lengths.n_words:,} words, {lengths.n_types:,} different")
    say(f"texts of a single word {lengths.n_single:,}")
    say(f"texts without a word {found.n_wordless:,}, of them blank {found.n_blank:,}")
    say(f"texts beyond ASCII {found.n_non_ascii:,}")
    say(f"texts with odd characters {found.n_odd:,}{_odd(found)}")
    for note in found.notes:
        say(f"note: {note}")


def _print_sets(found: Audit, rows: Mapping[str, int]) -> None:
    """Which labels stand together, where a text may have several."""
    say(f"labels a text: {sum(found.classes.values()) / found.n:.2f}; sets of them: {len(rows):,}")
    say()
    sets = table("labels of a text", ">texts", ">share")
    for own, n in list(rows.items())[:_MAX_CLASSES]:
        sets.add_row(own or "(none)", f"{n:,}", f"{n / found.n:.1%}")
    console().print(sets)
    if len(rows) > _MAX_CLASSES:
        say(f"and {len(rows) - _MAX_CLASSES:,} more")
    say(f"always naming the most frequent set: {found.majority:.1%} right")


def _odd(found: Audit) -> str:
    first = [f"{code} x {n}" for code, n in list(found.odd.items())[:_MAX_ODD]]
    more = [f"{len(found.odd) - _MAX_ODD} more kinds"] if len(found.odd) > _MAX_ODD else []
    return f" ({', '.join([*first, *more])})" if first else ""
