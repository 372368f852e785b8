"""Options that several commands share, and their strings as typed values."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from adasent.errors import ConfigError, nearest
from adasent.estimators.presets import preset
from adasent.estimators.registry import SYSTEMS, describe, find

Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="Name of a registered set (adasent data list), or a file."),
]
Model = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a trained model.")]
Text = Annotated[str | None, typer.Option(metavar="COL", help="Column of the texts.")]
LabelColumn = Annotated[str | None, typer.Option(metavar="COL", help="Column of the labels.")]
Device = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Predict on a GPU: cuda or cuda:1. Needs torch."),
]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="Encoding of a text file.")]
TokenizerName = Annotated[str, typer.Option(metavar="NAME", help="words or kim.")]
Seed = Annotated[int, typer.Option(help="Of everything random.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print warnings and errors only.")]
Vectors = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Word vectors: a file or a registered name; repeat to use several side by side.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any setting of the system, such as epochs=5; repeatable.",
    ),
]
SystemName = Annotated[
    str,
    typer.Option(
        "--system",
        metavar="NAME",
        help=f"What to train: {', '.join(SYSTEMS)}; see adasent systems.",
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Settings of AdaSent: default, or the paper's: paper. What --set says wins.",
    ),
]

#: Settings that hold objects, which a command line cannot name.
_PYTHON_ONLY = ("parser", "treebank", "unlabelled")

#: Option -> the field of a system's entry that says whether it takes it, and what to say if not.
_TAKES = {
    "--vectors": ("vectors", "reads no word vectors"),
    "--validation": ("by_epochs", "holds no texts back to choose an epoch"),
    "--resume/--restart": ("by_epochs", "trains in one go and keeps no checkpoints"),
}


@cache
def keywords(system: str) -> Mapping[str, Any]:
    """The keywords of a system's estimator, with their defaults."""
    parameters = inspect.signature(find(system)).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


def settable(system: str) -> dict[str, Any]:
    """The keywords that ``--set`` takes, with their defaults."""
    left_out = ("checkpoint", *_PYTHON_ONLY)
    return {name: value for name, value in keywords(system).items() if name not in left_out}


def check_options(system: str, options: Mapping[str, Any]) -> None:
    """Refuse options that mean nothing to a system; None or [] stands for one not given."""
    for option, value in options.items():
        field, why = _TAKES[option]
        if value not in (None, []) and not getattr(describe(system), field):
            raise ConfigError(f"{option}: the system {system} {why}; leave it out")


def take_settings(
    system: str, chosen: str | None, assignments: Sequence[str] | None
) -> dict[str, Any]:
    """What ``--preset`` and ``--set`` say, as keywords of the system's estimator."""
    if chosen is not None and system != "adasent":
        raise ConfigError(f"--preset: presets are settings of adasent; {system} has none")
    settings = {} if chosen is None else preset(chosen)
    return settings | parse_settings(assignments or [], system)


def parse_settings(assignments: Sequence[str], system: str = "adasent") -> dict[str, Any]:
    """``["epochs=5", "fine_tune=false"]`` as keywords of an estimator, typed by its defaults."""
    defaults = keywords(system)
    settings = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise ConfigError(f"--set: expected KEY=VALUE, got {assignment!r}")
        if key not in defaults:
            names = sorted(settable(system))
            hint = nearest(key, names)
            more = f" There are {', '.join(names)}" if hint.endswith("?") else ""
            raise ConfigError(f"--set: {system} has no setting {key!r}{hint}{more}")
        if key == "checkpoint":
            raise ConfigError("--set checkpoint: the command keeps its own; see --resume/--restart")
        if key in _PYTHON_ONLY:
            raise ConfigError(f"--set {key}: it holds objects; use the estimator in Python")
        settings[key] = _typed(key, value, defaults[key])
    return settings


#: Of settings whose default is None.
_KINDS: dict[str, type] = {
    **dict.fromkeys(("n_jobs", "max_words", "max_height", "gate_groups"), int),
    **dict.fromkeys(("learning_rate", "vector_dropout"), float),
}


def _typed(key: str, value: str, default: Any) -> Any:
    if key == "class_weight" and value.lower() not in ("balanced", "none"):
        raise ConfigError(f"--set class_weight: expected balanced or none, got {value!r}")
    if default is None and value.lower() == "none":
        return None
    if default is None and key not in _KINDS:
        return value
    kind = _KINDS[key] if default is None else type(default)
    if kind is bool:
        if value.lower() in ("true", "false"):
            return value.lower() == "true"
        raise ConfigError(f"--set {key}: expected true or false, got {value!r}")
    try:
        if kind is tuple:  # of whole numbers, wherever a system has one
            return tuple(int(part) for part in value.split(","))
        return kind(value)
    except ValueError:
        kinds = {int: "a whole number", tuple: "whole numbers with commas between, such as 3,4,5"}
        expected = kinds.get(kind, "a number")
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
