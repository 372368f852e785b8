"""``adasent serve``: a local web page and an HTTP service for a model."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from adasent.cli.console import say
from adasent.cli.models import open_adasent
from adasent.cli.options import Model
from adasent.errors import AdaSentWarning, require


def serve(
    model: Model,
    host: Annotated[
        str, typer.Option(metavar="NAME", help="Where to listen; 0.0.0.0 is everywhere.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; 0 takes one that is free.")
    ] = 8000,
    feedback: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Let the page's users put wrong labels right, and add them to this file.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Answer to this name too, such as that of a proxy in front; repeatable.",
        ),
    ] = None,
) -> None:
    """Show a model on a local web page, and answer HTTP requests.

    Only this machine can connect unless --host says otherwise. The page of the API is at /docs.

    \b
    Examples:
      adasent serve model
      adasent serve model --feedback wrong.csv   # add its rows to your texts, and train again
      curl -H 'Content-Type: application/json' -d '{"texts": ["what a lovely film"]}' \\
        http://127.0.0.1:8000/v1/predict
    """
    name = model.resolve().name

    def ready(address: str) -> None:
        say(f"{name}: {address}  (Ctrl-C stops)")
        sys.stdout.flush()  # also where a program waits for the address

    run_page(
        model,
        "adasent serve",
        host,
        port,
        name=name,
        feedback=feedback,
        allow_hosts=allow_host or (),
        ready=ready,
    )


def run_page(
    model: Path,
    command: str,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    name: str,
    feedback: Path | None = None,
    allow_hosts: Sequence[str] = (),
    ready: Callable[[str], None],
) -> None:
    """Serve a model until Ctrl-C.

    Parameters
    ----------
    command
        What the user has called, for errors.
    name
        What the page calls the model.
    ready
        Called with the address once there are answers.
    """
    for module in ("fastapi", "uvicorn"):
        require(module, "serve", command)
    # Read when numpy is first imported, so set before. Products of sentences gain nothing from
    # more threads, and several threads of ours make products at a time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from adasent.serve.server import is_loopback
    from adasent.serve.server import serve as run

    predictor = open_adasent(model, command)
    if not is_loopback(host):
        warnings.warn(
            f"--host {host} lets other machines connect, and there is no login",
            AdaSentWarning,
            stacklevel=2,
        )
    try:
        run(
            predictor,
            host,
            port,
            name=name,
            feedback=feedback,
            allow_hosts=allow_hosts,
            ready=ready,
        )
    except KeyboardInterrupt:
        say("stopped")
