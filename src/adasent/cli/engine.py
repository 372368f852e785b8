"""Where the work is done: options that say it, and what makes runs or asks models there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adasent.cli.groups import Given
from adasent.errors import ConfigError

if TYPE_CHECKING:
    from adasent.evaluation.executors import Executor

PANEL = "Where the work is done"

Engine = StrEnum("Engine", ["local", "ray"])


@dataclass(frozen=True)
class Where(Given):
    """Options of a command that works on this machine or over a cluster."""

    engine: Annotated[
        Engine,
        typer.Option(
            help="On this machine, or over a Ray cluster: pip install 'adasent\\[ray]'.",
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

    @property
    def is_ray(self) -> bool:
        """Whether to work over a cluster; refuses what has no meaning otherwise."""
        is_ray = self.engine is Engine.ray
        for word in () if is_ray else self.words:
            if word in self.of_a_cluster():
                raise ConfigError(f"{word}: it is of a Ray cluster; add --engine ray")
        return is_ray

    @classmethod
    def of_a_cluster(cls) -> tuple[str, ...]:
        """Options that have no meaning on this machine."""
        return ("--address",)


@dataclass(frozen=True)
class Workers(Where):
    """Options of a command that makes many runs."""

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

        if self.is_ray:
            from adasent.distributed.executor import ray_executor

            with ray_executor(self.address, self.workers) as executor:
                yield executor
        else:
            yield ThisProcess() if self.workers in (None, 1) else Processes(self.workers)


@dataclass(frozen=True)
class Askers(Where):
    """Options of a command that asks a model of many texts: by itself, or over a cluster."""

    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With Ray: processes; one a core by default.",
            rich_help_panel=PANEL,
        ),
    ] = None

    @classmethod
    def of_a_cluster(cls) -> tuple[str, ...]:
        return (*super().of_a_cluster(), "--workers")

    @contextmanager
    def asking(self) -> Iterator[dict[str, Any]]:
        """Keywords of :func:`adasent.teaching.teach.teach`, for the block."""
        if not self.is_ray:
            yield {}
            return
        from adasent.distributed.asking import ask_over
        from adasent.distributed.cluster import connected

        with connected(self.address, n_cpus=self.workers) as ray:
            yield {"asking": ask_over(ray, self.workers)}
