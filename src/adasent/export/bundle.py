"""Modules of JavaScript in, one script out: each in a function of its own, after its imports.

It knows the few forms that our modules use, and refuses what it does not know: names imported in
braces from a file beside it, and functions, classes and constants that are exported where they
are declared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from adasent.errors import AdaSentError

_IMPORT = re.compile(r'^import \{ ?([\w$, \n]+?) ?\} from "\./([\w.-]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const) ([\w$]+)", re.MULTILINE)
#: What would be left of a form that we do not know.
_LEFT = re.compile(r"^(?:import|export)\b.*|\bimport\(.*|\bimport\.meta\b.*", re.MULTILINE)
#: What would end a script in HTML, or hide its end.
_UNSAFE = re.compile(r"</script|<!--", re.IGNORECASE)


def bundle(entry: str, folders: Sequence[Path], *, module: bool) -> str:
    """One script of a module and of all that it imports.

    Parameters
    ----------
    entry
        Name of its file.
    folders
        Where files are looked for: one of the same name in an earlier folder wins.
    module
        Whether the script is a module, in which the entry may wait at its top.
    """
    order: list[str] = []
    _visit(entry, folders, order, ())
    sources = {name: _read(name, folders) for name in order}
    offered = {name: [found for _, found in _EXPORT.findall(sources[name])] for name in order}
    parts = []
    for name in order:
        body = _without_imports(name, sources[name], offered)
        # Modules are strict anyway.
        keyword = "await (async () => {" if module else '(() => {\n"use strict";'
        ending = "return { " + ", ".join(offered[name]) + " };\n" if offered[name] else ""
        parts.append(f"// {name}\nconst {_variable(name)} = {keyword}\n{body}{ending}}})();\n")
    script = "".join(parts)
    if found := _UNSAFE.search(script):
        raise AdaSentError(f"{entry}: {found.group()!r} cannot stand in a script of a page")
    return script


def _visit(name: str, folders: Sequence[Path], order: list[str], above: tuple[str, ...]) -> None:
    if name in above:
        raise AdaSentError(f"modules import each other in a circle: {' > '.join((*above, name))}")
    if name in order:
        return
    for _, wanted in _IMPORT.findall(_read(name, folders)):
        _visit(wanted, folders, order, (*above, name))
    order.append(name)


def _read(name: str, folders: Sequence[Path]) -> str:
    for folder in folders:
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8")
    raise AdaSentError(f"module {name} is in none of {', '.join(map(str, folders))}")


def _without_imports(name: str, source: str, offered: dict[str, list[str]]) -> str:
    def taken(match: re.Match[str]) -> str:
        names = [one.strip() for one in match.group(1).split(",") if one.strip()]
        missing = [one for one in names if one not in offered[match.group(2)]]
        if missing:
            raise AdaSentError(f"{name}: {match.group(2)} exports no {missing[0]}")
        return f"const {{ {', '.join(names)} }} = {_variable(match.group(2))};\n"

    body = _EXPORT.sub(r"\1 \2", _IMPORT.sub(taken, source))
    if left := _LEFT.search(body):
        raise AdaSentError(f"{name}: a form that the bundler does not know: {left.group()}")
    return body


def _variable(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name.removesuffix(".js"))
