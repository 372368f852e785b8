"""Options that several commands share, and their strings as typed values."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from adasent.errors import ConfigError, nearest

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Name of a registered set (adasent data list), or a file.",
        show_default=False,
    ),
]
Model = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of a trained model.", show_default=False)
]
Text = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of the texts.", show_default=False)
]
LabelColumn = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of the labels.", show_default=False)
]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="Encoding of a text file.")]
TokenizerName = Annotated[str, typer.Option(metavar="NAME", help="words or kim.")]
Vectors = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Word vectors: a file or a registered name; repeat to use several side by side.",
        show_default=False,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any keyword of AdaSentClassifier, such as epochs=5; repeatable.",
        show_default=False,
    ),
]


def parse_settings(assignments: Sequence[str]) -> dict[str, Any]:
    """``["epochs=5", "fine_tune=false"]`` as keywords of the estimator, typed by its defaults."""
    from adasent import AdaSentClassifier

    signature = inspect.signature(AdaSentClassifier)
    defaults = {name: parameter.default for name, parameter in signature.parameters.items()}
    settings = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise ConfigError(f"--set: expected KEY=VALUE, got {assignment!r}")
        if key == "checkpoint":
            raise ConfigError("--set checkpoint: the command keeps its own; see --resume/--restart")
        if key not in defaults:
            raise ConfigError(f"--set: unknown setting {key!r}{nearest(key, defaults)}")
        settings[key] = _typed(key, value, defaults[key])
    return settings


def _typed(key: str, value: str, default: Any) -> Any:
    if key == "class_weight" and value.lower() not in ("balanced", "none"):
        raise ConfigError(f"--set class_weight: expected balanced or none, got {value!r}")
    if default is None:
        return None if value.lower() == "none" else value
    kind = type(default)
    if kind is bool:
        if value.lower() in ("true", "false"):
            return value.lower() == "true"
        raise ConfigError(f"--set {key}: expected true or false, got {value!r}")
    try:
        return kind(value)
    except ValueError:
        expected = "a whole number" if kind is int else "a number"
        raise ConfigError(f"--set {key}: expected {expected}, got {value!r}") from None


def parse_seeds(text: str) -> list[int]:
    """``"0"``, ``"0-4"`` or ``"0,2,7-9"`` as distinct seeds in that order."""
    seeds: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise ConfigError(f"--seeds: expected such as 0 or 0-4 or 0,3, got {text!r}")
        seeds.update(dict.fromkeys(range(first, last + 1)))
    return list(seeds)


def take_vectors(names: Sequence[str] | None, settings: dict[str, Any]) -> dict[str, Path]:
    """The files of ``--vectors``, or else of ``--set vectors=``, which leaves the settings."""
    by_setting = settings.pop("vectors", None)
    return vector_files(names or ([by_setting] if by_setting else []))


def vector_files(names: Sequence[str]) -> dict[str, Path]:
    """The file of each vector set, by file name or registered name."""
    from adasent.data.derived import vector_file

    return {name: Path(name) if Path(name).exists() else vector_file(name) for name in names}


def new_file(path: Path, force: bool) -> None:
    """Refuse to overwrite a file, before any work is done; make its folder."""
    if path.is_dir():
        raise ConfigError(f"--out {path} is a folder; give the name of a file in it")
    if path.exists() and not force:
        raise ConfigError(f"--out {path} is there already; add --force to replace it")
    path.parent.mkdir(parents=True, exist_ok=True)


def command(*words: str | Path) -> str:
    """Words as a line that a shell reads back the same, for hints on what to run next."""
    return shlex.join(map(str, words))
