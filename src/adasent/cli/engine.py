"""Where runs are made: options that say it, and the executor that they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from adasent.cli.groups import Given
from adasent.errors import ConfigError

if TYPE_CHECKING:
    from adasent.evaluation.executors import Executor

PANEL = "Where runs are made"

Engine = StrEnum("Engine", ["local", "ray"])


@dataclass(frozen=True)
class Workers(Given):
    """Options of a command that makes many runs."""

    engine: Annotated[
        Engine,
        typer.Option(
            help="On this machine, or on a Ray cluster: pip install 'adasent[ray]'.",
            rich_help_panel=PANEL,
        ),
    ] = Engine.local
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Of the Ray cluster; without one, Ray is started on this machine.",
            rich_help_panel=PANEL,
        ),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Runs at a time: 1 by default, with Ray as many as there are GPUs, or cores.",
            rich_help_panel=PANEL,
        ),
    ] = None

    @contextmanager
    def executor(self) -> Iterator[Executor]:
        """What makes the runs, for the block."""
        from adasent.evaluation.executors import Processes, ThisProcess

        if self.engine is Engine.ray:
            from adasent.distributed.executor import ray_executor

            with ray_executor(self.address, self.workers) as executor:
                yield executor
            return
        if self.address is not None:
            raise ConfigError("--address: it is of a Ray cluster; add --engine ray")
        yield ThisProcess() if self.workers in (None, 1) else Processes(self.workers)
