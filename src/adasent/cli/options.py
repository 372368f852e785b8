"""Options that several commands share, and their strings as typed values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from adasent.cli.groups import Given
from adasent.cli.reading import PANEL
from adasent.cli.reading import Encoding as Encoding
from adasent.cli.reading import Text as Text
from adasent.errors import ConfigError, nearest, require
from adasent.estimators.presets import preset
from adasent.estimators.registry import SYSTEMS, describe
from adasent.estimators.settings import Setting, check_values, settings_of
from adasent.text.tokenize import get_tokenizer

Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="Name of a registered set (adasent data list), or a file."),
]
Model = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a trained model.")]
Device = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Predict on a GPU: cuda or cuda:1. Needs torch."),
]
TokenizerName = Annotated[
    str, typer.Option(metavar="NAME", help="How texts are cut into words: words or kim.")
]
Tokenizer = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="How texts are cut into words: words, the default, or kim."),
]
Seed = Annotated[int, typer.Option(help="Of everything random.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Weight = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column of weights: 2 counts as the text given twice.",
        rich_help_panel=PANEL,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print warnings and errors only.")]
Vectors = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Word vectors: auto (the default), none, a file or a name; repeat it to use several "
        "side by side. See adasent vectors --help.",
    ),
]
Encoder = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FOLDER",
        help="Stand on an encoder of transformers in place of word vectors: a folder, or a name "
        "on the hub.",
    ),
]
TuneEncoder = Annotated[
    bool, typer.Option("--tune-encoder", help="Train the encoder too, not only the network.")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any setting of the system, such as dropout=0.5; repeatable. adasent systems NAME "
        "lists them.",
    ),
]
SystemName = Annotated[
    str,
    typer.Option(
        "--system",
        metavar="NAME",
        help=f"What to train: {', '.join(SYSTEMS)}; see adasent systems.",
        autocompletion=lambda: list(SYSTEMS),
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Settings of AdaSent: default, or the paper's: paper. Options and --set win over it.",
    ),
]

#: Settings that hold objects, which a command line cannot name.
_PYTHON_ONLY = ("parser", "treebank", "unlabelled")

#: Option -> the field of a system's entry that says whether it takes it, and what to say if not.
_TAKES = {
    "--vectors": ("vectors", "reads no word vectors"),
    "--encoder": ("encoders", "cannot stand on an encoder"),
    "--validation": ("by_epochs", "holds no texts back to choose an epoch"),
    "--resume/--restart": ("by_epochs", "trains in one go and keeps no checkpoints"),
}


def keywords(system: str) -> Mapping[str, Any]:
    """The keywords of a system's estimator, with their defaults."""
    return {name: one.default for name, one in settings_of(system).items()}


def settable(system: str) -> dict[str, Setting]:
    """The keywords that ``--set`` takes."""
    left_out = ("checkpoint", "warm_start", *_PYTHON_ONLY)
    return {name: one for name, one in settings_of(system).items() if name not in left_out}


def check_system(system: str) -> None:
    """Refuse a system that is unknown or needs what is not installed; imports nothing."""
    for package, extra in describe(system).needs:
        try:
            is_there = find_spec(package) is not None
        except ImportError:
            is_there = False
        if not is_there:
            require(package, extra, f"the system {system}")


def check_options(system: str, options: Mapping[str, Any]) -> None:
    """Refuse options that mean nothing to a system; None or [] stands for one not given."""
    for option, value in options.items():
        field, why = _TAKES[option]
        if value not in (None, []) and not getattr(describe(system), field):
            raise ConfigError(f"{option}: the system {system} {why}; leave it out")


#: Help of an option that is a setting: the line of that setting.
OF_SETTING = "(of the setting)"
TRAINING = "Training"


def _setting(metavar: str) -> Any:
    return typer.Option(metavar=metavar, help=OF_SETTING, rich_help_panel=TRAINING)


@dataclass(frozen=True)
class Training(Given):
    """Options that are settings of the system, the most frequent ones; --set has them all."""

    epochs: Annotated[int | None, _setting("N")] = None
    batch_size: Annotated[int | None, _setting("N")] = None
    learning_rate: Annotated[float | None, _setting("X")] = None
    dropout: Annotated[float | None, _setting("X")] = None
    patience: Annotated[int | None, _setting("N")] = None
    hidden_size: Annotated[int | None, _setting("N")] = None
    max_words: Annotated[int | None, _setting("N")] = None
    class_weight: Annotated[str | None, _setting("balanced|none")] = None
    n_jobs: Annotated[int | None, _setting("N")] = None
    device: Annotated[str | None, _setting("NAME")] = None

    def merge(self, system: str, assigned: Mapping[str, Any]) -> dict[str, Any]:
        """These and what ``--set`` says; refused where they contradict each other."""
        merged = dict(assigned)
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            name, option = field.name, f"--{field.name.replace('_', '-')}"
            if name not in settings_of(system):
                raise ConfigError(f"{option}: {system} has no such setting; leave it out")
            if name == "class_weight":
                value = _typed(settings_of(system)[name], value, option)
            check_contradiction(option, name, value, assigned)
            merged[name] = value
        return merged


def check_contradiction(option: str, name: str, value: Any, assigned: Mapping[str, Any]) -> None:
    """Refuse an option and a ``--set`` that say different things of one setting."""
    if name in assigned and assigned[name] != value:
        raise ConfigError(
            f"{option} {value} and --set {name}={assigned[name]} contradict each other; give one"
        )


def with_tokenizer(option: str | None, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with a tokenizer: of its option, of ``--set``, or ``words``."""
    if option is not None:
        get_tokenizer(option)
        check_contradiction("--tokenizer", "tokenizer", option, settings)
    return {"tokenizer": option or "words"} | settings


def take_settings(
    system: str,
    chosen: str | None,
    assignments: Sequence[str] | None,
    training: Training | None = None,
) -> dict[str, Any]:
    """What ``--preset``, options and ``--set`` say, as keywords of the system's estimator.

    All is checked that can be checked without torch.
    """
    check_system(system)
    if chosen is not None and system != "adasent":
        raise ConfigError(f"--preset: presets are settings of adasent; {system} has none")
    settings = {} if chosen is None else preset(chosen)
    given = parse_settings(assignments or [], system)
    settings |= given if training is None else training.merge(system, given)
    check_values(system, settings)
    return settings


def parse_settings(
    assignments: Sequence[str], system: str = "adasent", option: str = "--set"
) -> dict[str, Any]:
    """``["epochs=5", "fine_tune=false"]`` as keywords of an estimator, typed by its defaults."""
    known = settings_of(system)
    settings = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise ConfigError(f"{option}: expected KEY=VALUE, got {assignment!r}")
        if key not in known:
            names = sorted(settable(system))
            hint = nearest(key, names)
            more = (
                f" {command('adasent', 'systems', system)} lists all" if hint.endswith("?") else ""
            )
            raise ConfigError(f"{option}: {system} has no setting {key!r}{hint}{more}")
        if key == "checkpoint":
            raise ConfigError(
                f"{option} checkpoint: the command keeps its own; see --resume/--restart"
            )
        if key in _PYTHON_ONLY:
            raise ConfigError(f"{option} {key}: it holds objects; use the estimator in Python")
        settings[key] = _typed(known[key], value, f"{option} {key}")
    return settings


def _typed(setting: Setting, value: str, given_as: str) -> Any:
    """A value as the type that the setting is annotated with."""
    kinds = setting.kinds
    if setting.name == "class_weight" and value.lower() not in ("balanced", "none"):
        raise ConfigError(f"{given_as}: expected balanced or none, got {value!r}")
    if "None" in kinds and value.lower() == "none":
        return None
    if "bool" in kinds:
        if value.lower() in ("true", "false"):
            return value.lower() == "true"
        raise ConfigError(f"{given_as}: expected true or false, got {value!r}")
    try:
        if "tuple" in kinds:  # of whole numbers, wherever a system has one
            return tuple(int(part) for part in value.split(","))
        if "float" in kinds:
            return float(value)
        return int(value) if "int" in kinds else value
    except ValueError:
        expected = "a number" if "float" in kinds else "a whole number"
        if "tuple" in kinds:
            expected = "whole numbers with commas between, such as 3,4,5"
        raise ConfigError(f"{given_as}: expected {expected}, got {value!r}") from None


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


def take_vectors(names: Sequence[str] | None, settings: dict[str, Any]) -> str | list[str] | None:
    """What ``--vectors`` says, or else ``--set vectors=``, which leaves the settings.

    As the estimators take it: ``auto``, files and names that are there, or None.
    """
    from adasent.data.default_vectors import AUTO, NONE

    by_setting = settings.pop("vectors", None)
    given = list(names or ([by_setting] if by_setting else [AUTO]))
    for word in (AUTO, NONE):
        if word in given and len(given) > 1:
            raise ConfigError(f"--vectors {word}: expected it alone, got {' and '.join(given)}")
    if given == [AUTO]:
        return AUTO
    return None if given == [NONE] else [*vector_files(given)]


def take_encoder(encoder: str | None, tune: bool, settings: dict[str, Any]) -> None:
    """Put ``--encoder`` and ``--tune-encoder`` among the settings, if they are given."""
    if encoder is not None:
        settings["encoder"] = encoder
    if tune:
        settings["tune_encoder"] = True
    if settings.get("tune_encoder") and settings.get("encoder") is None:
        raise ConfigError("--tune-encoder: there is no encoder to tune; give --encoder too")


def files_of(
    vectors: str | list[str] | None, system: str, settings: Mapping[str, Any]
) -> dict[str, Path]:
    """The files of :func:`take_vectors`, by name; auto becomes what it stands for."""
    from adasent.data.default_vectors import AUTO, choose_vectors

    if vectors == AUTO:
        reads = describe(system).vectors and settings.get("encoder") is None
        return vector_files(choose_vectors().names if reads else ())
    return vector_files(vectors or ())


def vector_files(names: Sequence[str]) -> dict[str, Path]:
    """The file of each vector set, by file name or name."""
    from adasent.data.derived import vector_file

    return {name: Path(name) if Path(name).exists() else vector_file(name) for name in names}


def new_file(path: Path, force: bool, option: str = "--out") -> None:
    """Refuse to overwrite a file, before any work is done; make its folder."""
    if path.is_dir():
        raise ConfigError(f"{option} {path} is a folder; give the name of a file in it")
    if path.exists() and not force:
        raise ConfigError(f"{option} {path} is there already; add --force to replace it")
    path.parent.mkdir(parents=True, exist_ok=True)


def command(*words: str | Path) -> str:
    """Words as a line that a shell reads back the same, for hints on what to run next."""
    return shlex.join(map(str, words))
