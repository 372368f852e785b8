"""``adasent export``: the folder of a model in, a file for another runtime out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from adasent.cli.console import say
from adasent.cli.options import Model, new_file
from adasent.errors import ConfigError, nearest


class Wanted(NamedTuple):
    """What is asked for, beside the model and the file."""

    texts: bool = False
    name: str | None = None
    words: int | None = None


class Format(NamedTuple):
    """A kind of file that a model can be written as."""

    ending: str  # of the file's name
    write: Callable[[Path, Path, Wanted], list[str]]  # model, file -> lines to print
    options: tuple[str, ...] = ()  # of those that mean something to some formats only
    beside: Callable[[Path, Wanted], list[Path]] = lambda *_: []  # files it writes with that one


def _onnx(model: Path, out: Path, wanted: Wanted) -> list[str]:
    from adasent.export.onnx_file import export_onnx

    files = export_onnx(model, out, texts=wanted.texts)
    return [f"{path}: {path.stat().st_size / 1e6:,.1f} MB" for path in files]


def _page(model: Path, out: Path, wanted: Wanted) -> list[str]:
    from adasent.export.page_file import export_page

    path = export_page(model, out, name=wanted.name, words=wanted.words)
    return [f"{path}: {path.stat().st_size / 1e6:,.1f} MB; open it in a browser"]


def _onnx_beside(out: Path, wanted: Wanted) -> list[Path]:
    from adasent.export.onnx_texts import names_beside

    return [*names_beside(out)] if wanted.texts else []


_FORMATS = {
    "onnx": Format(".onnx", _onnx, ("--texts",), _onnx_beside),
    "page": Format(".html", _page, ("--name", "--words")),
}


def export(
    model: Model,
    format_: Annotated[
        str, typer.Option("--format", metavar="NAME", help=f"One of {', '.join(_FORMATS)}.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write here; else here under the name of the model."),
    ] = None,
    texts: Annotated[
        bool,
        typer.Option("--texts", help="onnx: write what makes ids of texts beside it, as JSON."),
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="page: what it calls the model; else as the folder."),
    ] = None,
    words: Annotated[
        int | None,
        typer.Option(metavar="N", help="page: keep the N first words alone; it is smaller."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a model as one file that needs no Python to be used.

    \b
    Examples:
      adasent export model --format onnx
      adasent export model --format onnx --out model.onnx --texts
      adasent export starter --format page --out starter.html
    """
    if format_ not in _FORMATS:
        hint = nearest(format_, _FORMATS)
        raise ConfigError(f"--format: expected {' or '.join(_FORMATS)}, got {format_!r}{hint}")
    chosen = _FORMATS[format_]
    given = {"--texts": texts, "--name": name is not None, "--words": words is not None}
    for option, is_given in given.items():
        if is_given and option not in chosen.options:
            raise ConfigError(f"{option} means nothing to --format {format_}; leave it out")
    path = out or Path(model.resolve().name + chosen.ending)
    wanted = Wanted(texts, name, words)
    for one in (path, *chosen.beside(path, wanted)):
        new_file(one, force)
    for line in chosen.write(model, path, wanted):
        say(line)
