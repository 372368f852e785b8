"""A sheet of an Excel workbook as rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, time
from pathlib import Path
from typing import Any

from adasent.data.table import How, Row, Table
from adasent.errors import DataError, nearest, require, setting
from adasent.text.unpacking import open_zip


@contextmanager
def open_excel(path: Path, how: How) -> Iterator[Table]:
    """A sheet of an Excel workbook, its first filled row the header; formulas by their results."""
    openpyxl = require("openpyxl", "excel", "reading Excel")
    try:
        source = path if how.source is None else how.source()
        with open_zip(source, path):
            book = openpyxl.load_workbook(source, read_only=True, data_only=True)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except DataError:
        raise
    except Exception as error:  # of the archive, of its XML, or of what openpyxl makes of them
        raise DataError(f"cannot read {path} as Excel: {error}") from error
    try:
        names = [sheet.title for sheet in book.worksheets]
        if not names:
            raise DataError(f"{path}: the workbook holds no sheet with cells")
        name = names[0] if how.sheet is None else how.sheet
        if name not in names:
            raise DataError(f"{path}: no sheet {name!r}{nearest(name, names)}")
        notes = [f"sheet {name!r}"] if how.sheet is not None or len(names) > 1 else []
        if how.sheet is None and len(names) > 1:
            notes = [f"sheet {name!r}, the first of {len(names)} ({setting('sheet')})"]
        cells = enumerate(book[name].iter_rows(values_only=True), start=1)
        header: tuple[Any, ...] = next((row for _, row in cells if any(map(_filled, row))), ())
        while header and not _filled(header[-1]):
            header = header[:-1]
        columns = [str(cell) if _filled(cell) else "" for cell in header]
        table = Table(path, columns, iter(()), notes, blank_is_missing=True)
        table.rows = _cells_as_rows(table, cells)
        yield table
    finally:
        book.close()


def _cells_as_rows(table: Table, cells: Iterator[tuple[int, tuple[Any, ...]]]) -> Iterator[Row]:
    n_columns = len(table.columns)
    for number, (line, found) in enumerate(cells):
        if not any(map(_filled, found)):
            table.n_blank += 1
            continue
        if any(map(_filled, found[n_columns:])):
            raise DataError(
                f"{table.path}, line {line}: a cell to the right of the last column that has a "
                "name; give it a name in the first row, or clear it"
            )
        values = [_plain_value(cell) for cell in found[:n_columns]]
        yield Row(number, line, values + [None] * (n_columns - len(values)), {})


def _filled(cell: Any) -> bool:
    return cell is not None and str(cell).strip() != ""


def _plain_value(cell: Any) -> Any:
    """A cell as JSON and CSV can write it; a whole number that Excel keeps as a float is whole."""
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, date | time):
        return cell.isoformat()
    return cell if cell is None or isinstance(cell, str | int | float) else str(cell)
