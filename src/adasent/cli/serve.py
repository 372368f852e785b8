"""``adasent serve``: a local web page and an HTTP service for a model."""

from __future__ import annotations

import os
import sys
import warnings
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
) -> None:
    """Show a model on a local web page, and answer HTTP requests.

    Only this machine can connect unless --host says otherwise. The page of the API is at /docs.

    \b
    Examples:
      adasent serve model
      curl -H 'Content-Type: application/json' -d '{"texts": ["what a lovely film"]}' \\
        http://127.0.0.1:8000/v1/predict
    """
    for module in ("fastapi", "uvicorn"):
        require(module, "serve", "adasent serve")
    # Read when numpy is first imported, so set before. Products of sentences gain nothing from
    # more threads, and several threads of ours make products at a time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from adasent.serve.server import is_loopback
    from adasent.serve.server import serve as run

    predictor = open_adasent(model, "adasent serve")
    if not is_loopback(host):
        warnings.warn(
            f"--host {host} lets other machines connect, and there is no login",
            AdaSentWarning,
            stacklevel=2,
        )

    def ready(address: str) -> None:
        say(f"{model.resolve().name}: {address}  (Ctrl-C stops)")
        sys.stdout.flush()  # also where a program waits for the address

    try:
        run(predictor, host, port, name=model.resolve().name, ready=ready)
    except KeyboardInterrupt:
        say("stopped")
