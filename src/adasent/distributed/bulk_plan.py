"""Files to label in bulk -> columns and types of the output, and the parts of the work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from adasent.checks import check_integer
from adasent.data.ranges import ROWS, Range, cut_file
from adasent.data.tables import How, Row, Table, open_table
from adasent.distributed.bulk_job import Identity
from adasent.distributed.bulk_places import InputFile
from adasent.distributed.bulk_worker import Part
from adasent.errors import (
    AdaSentError,
    ConfigError,
    DataError,
    is_on_a_command_line,
    on_a_command_line,
)
from adasent.estimators.answers import Layout, Types, find_types, lay_out
from adasent.estimators.labelling import CHUNK, Answering, Columns, columns_of

#: Called with the first file and its columns.
Look: TypeAlias = Callable[[Table, Columns], None]


@dataclass(frozen=True)
class BulkConfig:
    """How files are read, what is said of their rows, and by how many.

    Attributes
    ----------
    text, id
        Columns of the texts, and of what is kept alone of a row; None finds the one and keeps all.
    answering
        Labels, probabilities, reasons.
    workers
        Processes; None is one a core of the cluster, or one a GPU.
    device
        None predicts with numpy alone where the model allows; ``cuda`` has one GPU a worker.
    rows
        Of a part, which is what is done again when a worker dies.
    """

    how: How = field(default_factory=How)
    text: str | None = None
    id: str | None = None
    answering: Answering = field(default_factory=Answering)
    workers: int | None = None
    device: str | None = None
    rows: int = ROWS

    def __post_init__(self) -> None:
        if self.workers is not None:
            check_integer("workers", self.workers, 1)
        check_integer("rows", self.rows, 1)

    @property
    def on_gpu(self) -> bool:
        """Whether each worker has a GPU."""
        return self.device is not None and self.device.startswith("cuda")

    @property
    def options(self) -> dict[str, Any]:
        """What the answers follow from, as JSON values."""
        levels: Any = self.answering.thresholds
        return {
            "text": self.text,
            "id": self.id,
            "encoding": self.how.encoding,
            "delimiter": self.how.delimiter,
            "sheet": self.how.sheet,
            "proba": self.answering.proba,
            "explain": self.answering.explain,
            "min_confidence": self.answering.min_confidence,
            "threshold": None if levels is None else sorted(map(list, levels.items())),
            "part_rows": self.rows,
        }


def first_rows(
    files: Sequence[InputFile], config: BulkConfig, labeller: Any, look: Look
) -> tuple[Layout, Types]:
    """Names and types of the output, as a single process finds them: by the first rows."""
    first, several = files[0], len(files) > 1
    with open_table(first.path, first.reading(config.how), plain=True) as table:
        columns = columns_of(table, config.text, config.id)
        look(table, columns)
        names = [table.columns[i] for i in columns.kept]
        # As in a single process: of one file that is kept whole, the schema is that of Parquet.
        whole = not several and len(names) == len(table.columns)
        layout = lay_out(
            ["file", *names] if several else names,
            labeller.classes_.tolist(),
            proba=config.answering.proba,
            schema=table.schema if whole else None,
            typed=table.typed,
            separator=None if labeller.thresholds_ is None else "|",
            reasons=config.answering.explain is not None,
        )
        head: list[Row] = []
        with suppress(DataError):  # the part that holds a bad row says so
            head.extend(islice(table.rows, CHUNK))
    values = [[row.values[i] for row in head] for i in columns.kept]
    return layout, find_types(layout, [[first.name], *values] if several else values)


class _Cut(NamedTuple):
    """A file, cut into ranges."""

    ranges: list[Range]
    columns: Columns
    names: list[str]  # of the columns that are kept


def _cut(file: InputFile, config: BulkConfig, names_options: bool) -> _Cut:
    reading = file.reading(config.how)
    with on_a_command_line(names_options):
        with open_table(file.path, reading, plain=True) as table:
            columns = columns_of(table, config.text, config.id)
            names = [table.columns[i] for i in columns.kept]
        ranges = list(cut_file(file.path, reading, file.identity, config.rows))
    return _Cut(ranges, columns, names)


def plan(
    ray: Any,
    files: Sequence[InputFile],
    types: Types,
    config: BulkConfig,
    identity: Identity,
) -> list[Part]:
    """The parts of all files, in order; files are cut side by side."""
    given = config, is_on_a_command_line()
    if len(files) == 1:
        cuts = [_cut(files[0], *given)]
    else:
        remote = ray.remote(_cut)
        try:
            cuts = ray.get([remote.remote(one, *given) for one in files])
        except ray.exceptions.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, AdaSentError) else error) from None
    parts = []
    first = cuts[0].names
    for i, (file, cut) in enumerate(zip(files, cuts, strict=True)):
        if cut.names != first:
            raise ConfigError(
                f"{file.name}: its columns are not those of {files[0].name}; label them one by one"
            )
        for number, one in enumerate(cut.ranges):
            rows = f"{one.row} {one.n_rows} {one.identity} {types.schema}"
            parts.append(Part(identity.part_name(i, number, rows), file, one, cut.columns))
    return parts
