"""What a folder of answers is of: a manifest beside its parts, so that a job is done only once.

The name of a part says where its rows stand in the input and, by a hash, from what it was made: the
content of its rows, the model, the options. So a part that is there is finished, whoever made it,
and a part whose rows were changed since is made again. Names in order are rows in order.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adasent.distributed.bulk_places import OutputFolder
from adasent.errors import ConfigError, setting
from adasent.version import __version__

#: Readers of folders of Parquet pass over names that start like this.
MANIFEST = "_manifest.json"
_FORMAT = 1
_PART = re.compile(r"part-\d{6}-\d{8}-[0-9a-f]{16}\.parquet")
_LEFT_BEHIND = re.compile(rf"\.({_PART.pattern}|{re.escape(MANIFEST)})\.[0-9a-f]{{8}}\.part")


@dataclass(frozen=True)
class Identity:
    """What the answers follow from, as JSON values; two jobs that differ here are two jobs."""

    model: str
    inputs: list[str]
    options: dict[str, Any]

    def part_name(self, file: int, number: int, rows: str) -> str:
        """The name of a part.

        Parameters
        ----------
        file, number
            Which of the inputs it is of, and which of its ranges.
        rows
            Tells its rows from others in their place.
        """
        made_from = json.dumps([self.model, self.options, rows], sort_keys=True)
        digest = hashlib.sha256(made_from.encode()).hexdigest()[:16]
        return f"part-{file:06d}-{number:08d}-{digest}.parquet"


class Manifest:
    """The manifest of a folder, and the names of its finished parts.

    Raises
    ------
    ConfigError
        If the folder holds anything else than a part of the same job, or an earlier state of it.
    """

    def __init__(self, folder: OutputFolder, identity: Identity, *, force: bool) -> None:
        self._folder = folder
        self._identity = identity
        there = folder.list()
        if force:
            folder.remove(sorted(filter(_is_ours, there)))
            there = {name for name in there if not _is_ours(name)}
        if MANIFEST in there:
            self._check()
        elif others := sorted(name for name in there if not _is_ours(name)):
            raise ConfigError(
                f"{setting('out')} {folder.name} holds other files, such as {others[0]}, and no "
                "manifest; give a new or an empty folder"
            )
        self._tidy(there)
        self.parts = {name for name in there if _PART.fullmatch(name)}

    def begin(self, planned: Sequence[str]) -> set[str]:
        """Drop parts whose rows have changed; names of the planned ones that are finished."""
        self._folder.remove(sorted(self.parts - set(planned)))
        finished = self.parts & set(planned)
        self.write({}, finished=False)
        return finished

    def write(self, parts: Mapping[str, Mapping[str, Any]], *, finished: bool) -> None:
        """Note parts by name, with what there is to say of each."""
        job = self._identity
        self._folder.write_json(
            MANIFEST,
            {
                "format": _FORMAT,
                "adasent": __version__,
                "model": job.model,
                "inputs": job.inputs,
                "options": job.options,
                "finished": finished,
                "parts": [{"name": name, **parts[name]} for name in sorted(parts)],
            },
        )

    def end(self, parts: Mapping[str, Mapping[str, Any]], *, finished: bool) -> None:
        """Note the last parts, when nobody works any more."""
        self._tidy(self._folder.list())
        self.write(parts, finished=finished)

    def _tidy(self, there: set[str]) -> None:
        """Remove what workers that were killed had begun."""
        self._folder.remove([name for name in there if _LEFT_BEHIND.fullmatch(name)])

    def _check(self) -> None:
        """Refuse a folder of another job, and say what differs."""
        name = self._folder.name
        try:
            found = self._folder.read_json(MANIFEST)
            theirs = Identity(found["model"], list(found["inputs"]), dict(found["options"]))
            is_known = found["format"] == _FORMAT
        except (ValueError, KeyError, TypeError):
            is_known = False
        if not is_known:
            raise ConfigError(f"{name}/{MANIFEST} cannot be read; give another folder, or --force")
        ours = self._identity
        differs = []
        if theirs.model != ours.model:
            differs.append("another model")
        if theirs.inputs != ours.inputs:
            differs.append("other inputs")
        names = sorted({*theirs.options, *ours.options})
        changed = [one for one in names if theirs.options.get(one) != ours.options.get(one)]
        if changed:
            differs.append(f"other options ({', '.join(changed)})")
        if differs:
            raise ConfigError(
                f"{setting('out')} {name} holds answers of {' and '.join(differs)}; give another "
                f"folder, or {setting('force', True)} to replace them"
            )


def _is_ours(name: str) -> bool:
    return bool(name == MANIFEST or _PART.fullmatch(name) or _LEFT_BEHIND.fullmatch(name))
