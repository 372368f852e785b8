"""``adasent data audit``: repeats, contradictions, leaks and odd texts of a set or a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from adasent.cli.console import console, say, table
from adasent.cli.options import Data, Encoding, LabelColumn, Text, TokenizerName

if TYPE_CHECKING:
    from adasent.data.audit import Audit, Repeats

_MAX_CLASSES = 10
_MAX_ODD = 5


def audit(
    data: Data,
    text: Text = None,
    label: LabelColumn = None,
    encoding: Encoding = "utf-8",
    tokenizer: TokenizerName = "kim",
    folds: Annotated[int, typer.Option(help="How many folds to measure leakage on.")] = 10,
    seed: Annotated[int, typer.Option(help="Of the folds.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find repeats, contradictory labels, leakage between folds, and odd texts.

    \b
    Examples:
      adasent data audit MPQA
      adasent data audit reviews.csv --text review --label stars --json
    """
    from adasent.data import load
    from adasent.data.audit import audit as look_at

    corpus = load(data, text=text, label=label, encoding=encoding)
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
    say(f"always naming the most frequent class: {found.majority:.1%} right")
    say()
    repeats = table("texts that are equal", ">as they stand", ">word for word")
    for name, one, two in zip(
        _names(found), _column(found.text), _column(found.words), strict=False
    ):
        repeats.add_row(name, one, two)
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


def _names(found: Audit) -> list[str]:
    folds = f"{found.n_folds} random folds"
    names = [
        "different texts",
        "rows that have a double",
        "texts with more than one label",
        "rows of those",
        "best reachable accuracy",
        f"test rows seen in training, {folds}",
        "  in the worst fold",
        "  folds that keep equal words together",
    ]
    return names if found.n_test is None else [*names, "  official test part", "  as a share"]


def _column(repeats: Repeats) -> list[str]:
    counts = (
        repeats.n_distinct,
        repeats.n_repeated,
        repeats.n_contradictory,
        repeats.n_contradictory_rows,
    )
    shares = (
        repeats.best_accuracy,
        repeats.leakage,
        repeats.worst_leakage,
        repeats.grouped_leakage,
    )
    column = [f"{n:,}" for n in counts] + [f"{share:.1%}" for share in shares]
    if repeats.n_official is None or repeats.official_leakage is None:
        return column
    return [*column, f"{repeats.n_official:,}", f"{repeats.official_leakage:.1%}"]


def _odd(found: Audit) -> str:
    first = [f"{code} x {n}" for code, n in list(found.odd.items())[:_MAX_ODD]]
    more = [f"{len(found.odd) - _MAX_ODD} more kinds"] if len(found.odd) > _MAX_ODD else []
    return f" ({', '.join([*first, *more])})" if first else ""
