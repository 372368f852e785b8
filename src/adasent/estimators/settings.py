"""The keywords of each system's estimator, with default, type and a line each.

They are read from the source of the classes, without importing them: a network's module imports
torch, which takes seconds, and a command that is given a wrong setting should say so at once.
Nothing is stated twice: names, types and defaults are the fields of the dataclasses, and the lines
are the first sentences of their docstrings and of the ``#:`` comments above their fields.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from typing import Any

from adasent.estimators.registry import SystemEntry, describe
from adasent.text.tokenize import get_tokenizer

#: Where a config's sizes that follow from the data are; these are no settings.
_OF_THE_DATA = ("adasent.systems.config", "SystemConfig")
_RIVALS = "adasent.estimators.rivals"
#: Configs that the keywords of networks mirror, with what each keyword means.
_EXPLAINED = (
    ("adasent.estimators.adasent", "AdaSentClassifier"),
    ("adasent.training.config", "TrainingConfig"),
    ("adasent.training.config", "TuningConfig"),
    ("adasent.systems.config", "AdaSentConfig"),
)
_ENTRY = re.compile(r"^(\w+(?:, *\w+)*)$")


@dataclass(frozen=True)
class Setting:
    """A keyword of an estimator."""

    name: str
    default: Any
    kind: str  # the annotation, such as "int | None"
    help: str = ""

    @property
    def kinds(self) -> set[str]:
        """The names of the types that it takes."""
        return {part.partition("[")[0].strip() for part in self.kind.split("|")}


@cache
def settings_of(system: str) -> Mapping[str, Setting]:
    """The keywords of a system's estimator, in the order of their definition."""
    entry = describe(system)
    found = _keywords(entry)
    lines = _lines(entry)
    return {name: replace(one, help=lines.get(name, one.help)) for name, one in found.items()}


def check_values(system: str, settings: Mapping[str, Any]) -> None:
    """Refuse values out of range, by the configs that check them again where they are used.

    What needs torch or scikit-learn to be checked is left to those.
    """
    from adasent.systems.config import AdaSentConfig
    from adasent.training.config import TrainingConfig, TuningConfig

    if isinstance(settings.get("tokenizer"), str):
        get_tokenizer(settings["tokenizer"])
    if not describe(system).by_epochs:
        return

    def check(config: Any, **fixed: Any) -> None:
        names = {field.name for field in fields(config)} - fixed.keys()
        known = {k: v for k, v in settings.items() if k in names and v is not None}
        config(**fixed, **known)

    check(TrainingConfig)
    check(TuningConfig)
    if system == "adasent":
        check(AdaSentConfig, n_trained=2, n_classes=1, vector_size=1, n_fixed=0)


def _keywords(entry: SystemEntry) -> dict[str, Setting]:
    if not entry.is_network:
        return _fields(entry.module, entry.attribute)
    base = "TreeClassifier" if entry.trees else "RivalClassifier"
    given = _fields(*_OF_THE_DATA)
    config = _fields(*_config_of(entry.module, entry.attribute))
    return _fields(_RIVALS, base) | {k: v for k, v in config.items() if k not in given}


def _lines(entry: SystemEntry) -> dict[str, str]:
    """What each keyword means, in a sentence; what is said of the system itself wins."""
    lines: dict[str, str] = {}
    if entry.by_epochs:
        for module, name in reversed(_EXPLAINED):
            lines |= _documented(module, name)
    own = [(entry.module, entry.attribute)]
    if (config := _config_of(entry.module, entry.attribute)) is not None:
        own.append(config)
    for module, name in own:
        for klass_module, node in reversed(list(_family(module, name))):
            lines |= _documented(klass_module, node.name)
    return lines


# -- classes as they are written -----------------------------------------------------------------


@cache
def _source(module: str) -> tuple[ast.Module, list[str]]:
    spec = importlib.util.find_spec(module)
    source = None if spec is None else spec.loader.get_source(module)  # type: ignore[union-attr]
    if source is None:  # pragma: no cover
        raise ImportError(f"the source of {module} is not installed")
    return ast.parse(source), source.splitlines()


def _find_class(module: str, name: str) -> tuple[str, ast.ClassDef] | None:
    """A class by its name in a module, and the module of ours that defines it."""
    if module.partition(".")[0] != "adasent":
        return None
    for node in _source(module)[0].body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return module, node
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _find_class(node.module, alias.name)
    return None


def _family(module: str, name: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """The class and those of ours that it derives from, bases last."""
    found = _find_class(module, name)
    if found is None:
        return
    yield found
    where, node = found
    for base in node.bases:
        if isinstance(base, ast.Name):
            yield from _family(where, base.id)


def _config_of(module: str, name: str) -> Any:
    """Module and name of the config that a class says it has; None if it says none."""
    for where, node in _family(module, name):
        for line in node.body:
            if isinstance(line, ast.Assign) and isinstance(line.value, ast.Name):
                targets = [one.id for one in line.targets if isinstance(one, ast.Name)]
                if "config_type" in targets:
                    found = _find_class(where, line.value.id)
                    return None if found is None else (found[0], found[1].name)
    return None


def _fields(module: str, name: str) -> dict[str, Setting]:
    """The fields of a dataclass, those of its bases first."""
    found: dict[str, Setting] = {}
    for where, node in reversed(list(_family(module, name))):
        for line in node.body:
            if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name):
                continue
            if line.target.id.endswith("_"):  # what a fitted model has
                continue
            kind = ast.unparse(line.annotation)
            if kind.startswith("ClassVar") or line.target.id.startswith("_") or line.value is None:
                continue
            default = _default(where, line.value)
            found[line.target.id] = Setting(line.target.id, default, kind)
    return found


def _default(module: str, value: ast.expr) -> Any:
    """The default of a field: a literal, a constant, or the first argument of what makes it."""
    if isinstance(value, ast.Call):
        named = {word.arg: word.value for word in value.keywords}
        if "default" in named or value.args:
            return _default(module, named.get("default") or value.args[0])
    if isinstance(value, ast.Name) and value.id == "MISSING":
        return MISSING
    if isinstance(value, ast.Name):
        return _constant(module, value.id)
    return ast.literal_eval(value)


def _constant(module: str, name: str) -> Any:
    """What a name stands for that a module sets or imports."""
    for node in _source(module)[0].body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            for one, value in pairs:
                if isinstance(one, ast.Name) and one.id == name:
                    return _default(module, value)
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _constant(node.module, alias.name)
    raise LookupError(f"{module} has no constant {name}")


# -- what is said of them ------------------------------------------------------------------------


def _documented(module: str, name: str) -> dict[str, str]:
    """Field -> first sentence of what the class's docstring or the comment above it says."""
    found = _find_class(module, name)
    if found is None:
        return {}
    where, node = found
    return _from_docstring(ast.get_docstring(node) or "") | _from_comments(where, node)


def _from_docstring(text: str) -> dict[str, str]:
    """The entries of a NumPy docstring that speak for themselves, not by "see ..."."""
    found: dict[str, str] = {}
    names: list[str] = []
    said: list[str] = []
    for line in [*text.replace("\\\n", "").splitlines(), "end"]:
        if line.startswith(" "):
            said.append(line.strip())
            continue
        sentence = _sentence(" ".join(said))
        if sentence and not sentence.lower().startswith(("see ", "training; see", "the network;")):
            found |= dict.fromkeys(names, sentence) if len(names) == 1 else {}
        match = _ENTRY.match(line)
        names, said = (match[1].replace(" ", "").split(",") if match else []), []
    return found


def _from_comments(module: str, node: ast.ClassDef) -> dict[str, str]:
    """``#: ...`` above a field, or above several that follow each other."""
    lines = _source(module)[1]
    found: dict[str, str] = {}
    said = ""
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            first = line.lineno - 1
            while lines[first - 1].strip().startswith("#:"):
                first -= 1
            own = " ".join(part.strip()[2:].strip() for part in lines[first : line.lineno - 1])
            said = _sentence(own) or said
            if said:
                found[line.target.id] = said
    return found


def _sentence(text: str) -> str:
    """Up to the first full stop or semicolon that ends something, as plain text."""
    plain = inspect.cleandoc(text).replace("``", "")
    plain = re.sub(r":\w+:`~?([^`]+)`", r"\1", plain)
    return re.split(r"(?<=[^.\d])[.;](?:\s|$)", plain, maxsplit=1)[0].strip()
