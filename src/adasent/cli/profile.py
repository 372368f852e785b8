"""``adasent profile``: at which scale a model decides each class of labelled texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adasent.cli.console import console, say, table
from adasent.cli.groups import spread
from adasent.cli.models import open_adasent
from adasent.cli.options import Data, Json, Model
from adasent.cli.parts import SplitOption, check_texts, read_part
from adasent.cli.reading import Reading
from adasent.errors import ConfigError

if TYPE_CHECKING:
    from adasent.explain.profile import Profile

_MAX_PHRASES = 3  # of each number of words, on the screen


@spread
def profile(
    model: Model,
    data: Data,
    reading: Reading,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for profile.html and the tables as CSV."),
    ] = None,
    split: SplitOption = None,
    as_json: Json = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a profile in DIR.")] = False,
) -> None:
    """Show at which scale a model decides, and whether the task needs word order.

    \b
    Examples:
      adasent profile trec TREC
      adasent profile model held-out.csv --text review --label stars --out profile
    """
    from adasent.explain.profile import profile as look_at

    if out is not None and (out / "profile.html").exists() and not force:
        raise ConfigError(f"--out {out} holds a profile already; add --force to replace it")
    predictor = open_adasent(model, "adasent profile")
    corpus, part = read_part(reading, data, split)
    check_texts(predictor, corpus, part)
    found = look_at(predictor, corpus.texts, corpus.labels, corpus.name)
    if out is not None:
        found.write(out)
    if as_json:
        tables = {
            name: [dict(zip(columns, row, strict=True)) for row in rows]
            for name, (columns, rows) in found.tables.items()
        }
        say(json.dumps({"name": found.name, "n": found.n, "order": vars(found.order)} | tables))
        return
    _print(found)
    if out is not None:
        say(f"\nwritten to {out}: profile.html and {len(found.tables) + 1} tables as CSV")


def _print(found: Profile) -> None:
    from adasent.explain.profile import TITLES

    screen = console()
    say(f"{found.name}: {found.n:,} texts")
    say(found.order.answer)
    for name, (columns, rows) in found.tables.items():
        say()
        say(TITLES[name])
        shown = table(*(f">{c}" if c not in ("class", "outcome", "phrase") else c for c in columns))
        seen: dict[object, int] = {}
        for row in rows:
            seen[row[0]] = seen.get(row[0], 0) + 1
            if name != "phrases" or (seen[row[0]] <= _MAX_PHRASES and row[0] <= 5):
                shown.add_row(*(f"{v:.2f}" if isinstance(v, float) else str(v) for v in row))
        screen.print(shown)
