"""Labels that users put right, a row of a CSV file each: the next training can read it as it is."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from filelock import FileLock
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, create_model

from adasent.errors import ConfigError, DataError

#: ``adasent train`` finds the first two by their names and leaves the others unread.
COLUMNS = ("text", "label", "predicted", "probability", "time")


class FeedbackFile:
    """A CSV file that rows are added to, whole ones or none, by any number of services at a time.

    Cells are written as they are, unlike those of a file for spreadsheets: they are to be learnt.

    Raises
    ------
    ConfigError
        If the name does not end in .csv, or the file is there and has other columns.
    OSError
        If it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        if path.suffix.lower() != ".csv":
            raise ConfigError(f"--feedback {path}: expected a name that ends in .csv")
        self.path = path
        self._lock = FileLock(path.with_name(f".{path.name}.lock"), is_singleton=True)
        self._append(None)

    def add(self, text: str, label: Any, predicted: Any, probability: float) -> None:
        """Add a row; the file is as it was if that fails."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._append((text, label, predicted, f"{probability:.6f}", now))

    def _append(self, row: Sequence[Any] | None) -> None:
        with self._lock, self.path.open("a+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            self._check(file, size)
            lines = b"" if size else _line(COLUMNS)
            if size and not _ends_a_line(file, size):
                lines += b"\n"  # of a row that somebody wrote by hand
            if row is not None:
                lines += _line(row)
            try:
                while lines:
                    lines = lines[file.write(lines) :]
            except OSError:
                file.truncate(size)
                raise

    def _check(self, file: io.FileIO, size: int) -> None:
        if not size:
            return
        file.seek(0)
        found = file.read(200).decode("utf-8-sig", "replace").splitlines()[0]
        if found != ",".join(COLUMNS):
            raise ConfigError(
                f"--feedback {self.path}: expected a file with the columns {','.join(COLUMNS)}, "
                f"got {found[:60]!r}; give a new file"
            )


def _line(cells: Sequence[Any]) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue().encode("utf-8", "backslashreplace")


def _ends_a_line(file: io.FileIO, size: int) -> bool:
    file.seek(size - 1)
    return file.read(1) == b"\n"


def feedback_model(classes: Sequence[Any], max_chars: int) -> type[BaseModel]:
    """The schema of a body: ``{"text": "...", "label": ...}``, the label one of the classes."""
    kind: Any = type(classes[0])  # all labels of a model are of one

    def known(label: Any) -> Any:
        if label not in classes:
            raise DataError(f"expected one of the classes, got {str(label)[:50]!r}")
        return label

    text = Annotated[str, StringConstraints(max_length=max_chars, pattern=r"\S")]
    label = Annotated[
        kind, Field(strict=True, json_schema_extra={"enum": list(classes)}), AfterValidator(known)
    ]
    model: type[BaseModel] = create_model(
        "Correction",
        __config__=ConfigDict(extra="forbid"),
        __doc__='{"text": "...", "label": ...}',
        text=(text, ...),
        label=(label, ...),
    )
    return model
