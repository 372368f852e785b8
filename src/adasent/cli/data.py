"""``adasent data``: the registered sets, their files, their counts and what is odd about them."""

from __future__ import annotations

import os
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adasent.cli import audit
from adasent.cli.console import console, printable, say, table
from adasent.cli.root import Commands

if TYPE_CHECKING:
    from adasent.data import Corpus, Entry, Label

app = Commands(
    no_args_is_help=True, help="Data sets: list, get, compare with the paper, look for traps."
)
app.command("audit")(audit.audit)

BENCHMARKS = ("MR", "CR", "SUBJ", "MPQA", "TREC")


@app.command("list")
def list_sets() -> None:
    """List everything that can be fetched by name.

    \b
    Example:
      adasent data list
    """
    from rich.padding import Padding

    from adasent.data import describe, registered

    rows = table("name", "kind", "status", "what")
    licences: dict[str, list[str]] = {}
    for entry in map(describe, registered()):
        rows.add_row(entry.name, _kind(entry), _whereabouts(entry), entry.title)
        licences.setdefault(entry.licence, []).append(entry.name)
    out = console()
    out.print(rows)
    say("\nmirror: in ADASENT_DATA; cached: fetched before; missing: not fetched yet")
    say("only in a mirror: it has no public address")
    say("\nlicences")
    for licence, names in licences.items():
        out.print(Padding.indent(f"{', '.join(names)}: {licence}", 2))


@app.command("get")
def get(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Names of adasent data list.")],
) -> None:
    """Fetch sets, verify them, and print where their files lie.

    \b
    Example:
      adasent data get CR snippets
    """
    from adasent.data import describe, fetch

    entries = [describe(name) for name in names]  # a misspelt name fails before any download
    err = console(stderr=True)
    for entry in entries:
        if err.is_terminal and _whereabouts(entry) == "missing":
            size = sum(file.size for file in entry.files) / 1e6
            err.print(f"getting {entry.name}, {size:.1f} MB")
        for path in fetch(entry.name, progress=err.is_terminal):
            say(f"{entry.name}\t{path}")


@app.command("stats")
def stats(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Registered names, or files.")
    ] = None,
) -> None:
    """Count texts, classes and words, beside the paper's Table 1.

    Without a name: the five sets of the paper. A file of yours works too.

    \b
    Example:
      adasent data stats CR TREC
    """
    from rich.padding import Padding

    from adasent.data import load
    from adasent.data.registry import find

    rows = table("set", "", ">N", ">classes", ">words", ">test", "class shares")
    remarks = []
    has_paper = False
    for name in names or BENCHMARKS:
        # Rows that lack something are counted in the notes.
        corpus, entry = load(name, skip_missing=True), find(name)
        paper = entry.paper if entry is not None else None
        if paper is not None:
            has_paper = True
            shares = " ".join(f"{share:.2g}" for share in paper.shares)
            counts = (paper.n, paper.n_classes, paper.mean_length, paper.test)
            rows.add_row(corpus.name, "paper", *map(str, counts), shares)
        rows.add_row("" if paper else corpus.name, "ours", *_ours(corpus))
        why = [entry.remark] if entry is not None and entry.remark else []
        classes = ", ".join(map(str, _classes(corpus)))
        remarks.append(f"{corpus.name}: {'; '.join([classes, *why, *corpus.notes])}")
    out = console()
    out.print(rows)
    say()
    unsaid = "; the paper does not say how it counts, nor name TREC's classes" if has_paper else ""
    out.print(
        f"words: mean per text, ours by the tokenizer kim, marks included{unsaid}. CV: "
        "cross-validation; a number: an official test part. Classes in the order of our shares, "
        "and notes:"
    )
    for remark in remarks:
        out.print(Padding.indent(printable(remark), 2))


def _ours(corpus: Corpus) -> tuple[str, ...]:
    from adasent.text.tokenize import kim

    n_test = 0 if corpus.test is None else len(corpus.test)
    n = f"{len(corpus) - n_test}+{n_test}" if n_test else str(len(corpus))
    several = corpus.multilabel  # whose shares need not sum to 1
    counts = Counter(chain.from_iterable(corpus.labels) if several else corpus.labels)
    shares = " ".join(f"{counts[label] / len(corpus):.2f}" for label in _classes(corpus))
    n_words = sum(len(kim(text)) for text in corpus.texts)
    mean = f"{n_words / len(corpus):.1f}"
    return n, str(len(counts)), mean, str(n_test) if n_test else "CV", shares


def _classes(corpus: Corpus, n: int = 6) -> list[Label]:
    """The first labels in order of appearance; a user's file may have hundreds."""
    return corpus.classes[:n]


def _kind(entry: Entry) -> str:
    from adasent.data import vector_sets

    if entry.reader is not None:
        return "texts"
    return "vectors" if entry.name in vector_sets() else "model"


def _whereabouts(entry: Entry) -> str:
    """Whether every file is in the mirror folder or the cache; sizes are compared, not digests."""
    from adasent.data import cache_dir
    from adasent.data.fetch import within_reach

    mirror = os.environ.get("ADASENT_DATA", "").strip()
    places = {"mirror": Path(mirror).expanduser()} if mirror and "://" not in mirror else {}
    for word, folder in {**places, "cached": cache_dir()}.items():
        paths = [(folder / file.path, file.size) for file in entry.files]
        if all(path.is_file() and path.stat().st_size == size for path, size in paths):
            return word
    return "missing" if within_reach(entry.name) else "only in a mirror"
