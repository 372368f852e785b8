"""Labels ranges of rows in a process of its own, and writes each as a part in Parquet."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from adasent.data.ranges import Range, open_range
from adasent.data.tables import How
from adasent.distributed.bulk_places import InputFile, OutputFolder
from adasent.errors import AdaSentError, AdaSentWarning, on_a_command_line
from adasent.estimators.answers import Layout, ParquetWriter, Types
from adasent.estimators.labelling import Answering, Columns, answer_rows, count_texts


@dataclass(frozen=True)
class Part:
    """A range of rows and the file that its answers go to."""

    name: str
    file: InputFile
    range: Range
    columns: Columns


@dataclass(frozen=True)
class Work:
    """What is to be done with every part."""

    out: str
    how: How
    answering: Answering
    layout: Layout
    types: Types
    names_files: bool  # whether the file stands beside each row
    device: str | None
    names_options: bool  # whether messages name options of a command


@dataclass(frozen=True)
class Done:
    """What became of a part."""

    name: str
    n_rows: int = 0
    n_missing: int = 0  # rows without a text
    n_long: int = 0  # texts that were cut
    n_empty: int = 0  # texts without a word
    warnings: tuple[str, ...] = ()
    problem: str | None = None  # why it could not be done

    def to_row(self) -> dict[str, Any]:
        """As Ray Data passes it on."""
        return {"done": json.dumps(asdict(self))}

    @classmethod
    def from_row(cls, text: str) -> Done:
        """Inverse of :meth:`to_row`."""
        return cls(**json.loads(text))


class Worker:
    """An actor of the pool: opens the model once.

    Parameters
    ----------
    shared
        A reference to a :class:`~adasent.distributed.bulk_model.SharedModel`, in a list.
    parts
        A reference to all parts, in a list.
    """

    def __init__(self, work: Work, shared: list[Any], parts: list[Any]) -> None:
        import ray

        self._work = work
        self._parts: list[Part] = ray.get(parts[0])
        self._model: Any = ray.get(shared[0]).open(work.device)
        self._counting = count_texts(self._model)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Label the part of a number."""
        part = self._parts[row["id"]]
        with on_a_command_line(self._work.names_options):
            return _tried(self._label, part).to_row()

    def _label(self, part: Part) -> Done:
        work, counting = self._work, self._counting
        counting.n_texts = counting.n_long = counting.n_empty = 0
        total: Counter[str] = Counter()

        def fill(stream: Any) -> None:
            writer = ParquetWriter(stream, work.layout, work.types)
            try:
                with open_range(part.range, part.file.path, part.file.reading(work.how)) as table:
                    found = answer_rows(
                        self._model,
                        table,
                        part.columns,
                        work.answering,
                        file=part.file.name if work.names_files else None,
                    )
                    for answers, n_missing in found:
                        writer.write(answers)
                        total.update(n_rows=len(answers), n_missing=n_missing)
                writer.close()
            except BaseException:
                writer.abandon()
                raise

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", AdaSentWarning)
            OutputFolder(work.out).write(part.name, fill)
        said = [str(one.message) for one in caught if issubclass(one.category, AdaSentWarning)]
        return Done(
            part.name,
            total["n_rows"],
            total["n_missing"],
            counting.n_long,
            counting.n_empty,
            tuple(said),
        )


def _tried(label: Any, part: Part) -> Done:
    """What is wrong with the input, or with the disk, ends its part alone."""
    try:
        done: Done = label(part)
    except (AdaSentError, OSError) as error:
        problem = str(error)
        where = str(part.file.path)
        return Done(part.name, problem=problem if where in problem else f"{where}: {problem}")
    return done
