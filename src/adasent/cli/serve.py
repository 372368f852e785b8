"""``adasent serve``: a local web page and an HTTP service for a model."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from adasent.cli.console import say
from adasent.cli.models import check_adasent, open_adasent
from adasent.errors import AdaSentWarning, ConfigError, require

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


class LogFormat(StrEnum):
    """How logs are written."""

    PLAIN = "plain"
    JSON = "json"


def serve(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]DIR",
            help="Folder of a trained model; of several, each with its name.",
        ),
    ],
    host: Annotated[
        str, typer.Option(metavar="NAME", help="Where to listen; 0.0.0.0 is everywhere.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; 0 takes one that is free.")
    ] = 8000,
    feedback: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE.csv",
            help="Let the page's users put wrong labels right, and add them to this file; of "
            "several models, that of the first or of NAME.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Answer to this name too, such as that of a proxy in front; repeatable.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Answer only those who bring the token in this file, or in ADASENT_TOKEN.",
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes at the port.")] = 1,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Go over to a new model as soon as its folder has changed."),
    ] = False,
    log_format: Annotated[
        LogFormat, typer.Option(help="json logs each request, and all else, as a line of JSON.")
    ] = LogFormat.PLAIN,
    telemetry: Annotated[
        bool,
        typer.Option("--telemetry", help="Trace requests with OpenTelemetry; see OTEL_*."),
    ] = False,
) -> None:
    """Show a model on a local web page, and answer HTTP requests.

    Only this machine can connect unless --host says otherwise. The page of the API is at /docs.
    On SIGHUP the folders are read again.

    \b
    Examples:
      adasent serve model
      adasent serve model --feedback wrong.csv   # add its rows to your texts, and train again
      adasent serve films=model topics=other --workers 4 --watch
      curl -H 'Content-Type: application/json' -d '{"texts": ["what a lovely film"]}' \\
        http://127.0.0.1:8000/v1/predict
    """
    folders = named(models)
    _prepare("adasent serve")
    from adasent.serve.access import VARIABLE, read_token
    from adasent.serve.server import Options, is_loopback, serve_folders

    for folder in folders.values():
        check_adasent(folder, "adasent serve")
    token = read_token(token_file)
    if token is None and not is_loopback(host):
        warnings.warn(
            f"--host {host} lets other machines connect, and there is no login; "
            f"see --token-file and {VARIABLE}",
            AdaSentWarning,
            stacklevel=2,
        )

    def ready(address: str) -> None:
        say(f"{', '.join(folders)}: {address}  (Ctrl-C stops)")
        sys.stdout.flush()  # also where a program waits for the address

    options = Options(
        allow_hosts=allow_host or (),
        token=token,
        n_workers=workers,
        watch=watch,
        json_lines=log_format is LogFormat.JSON,
        telemetry=telemetry,
    )
    try:
        serve_folders(
            folders,
            host,
            port,
            feedback=_feedback(feedback or (), folders),
            options=options,
            ready=ready,
        )
    except KeyboardInterrupt:
        say("stopped")


def named(models: Sequence[str]) -> dict[str, Path]:
    """``["model"]`` or ``["a=FOLDER", "b=FOLDER"]`` as folders by name."""
    if len(models) == 1 and ("=" not in models[0] or Path(models[0]).exists()):
        folder = Path(models[0])
        return {folder.resolve().name: folder}
    found: dict[str, Path] = {}
    for model in models:
        name, equals, folder_name = model.partition("=")
        if not equals or not _NAME.fullmatch(name) or not folder_name:
            raise ConfigError(
                f"expected NAME=DIR, the name of letters, digits, '.', '_' and '-', got {model!r}"
            )
        if name in found:
            raise ConfigError(f"expected different names, got {name!r} twice")
        found[name] = Path(folder_name)
    return found


def _feedback(files: Sequence[str], folders: Mapping[str, Path]) -> dict[str, Path]:
    """Files for labels put right, by the name of the model."""
    found: dict[str, Path] = {}
    for file in files:
        name, equals, path = file.partition("=")
        if not equals or name not in folders:
            name, path = next(iter(folders)), file
        if name in found:
            raise ConfigError(f"--feedback: expected one file for {name}, got {path} too")
        found[name] = Path(path)
    return found


def run_page(
    model: Path, command: str, port: int = 0, *, name: str, ready: Callable[[str], None]
) -> None:
    """Serve a model to this machine until Ctrl-C.

    Parameters
    ----------
    command
        What the user has called, for errors.
    name
        What the page calls the model.
    ready
        Called with the address once there are answers.
    """
    _prepare(command)
    from adasent.serve.server import serve as run

    predictor = open_adasent(model, command)
    try:
        run(predictor, "127.0.0.1", port, name=name, ready=ready)
    except KeyboardInterrupt:
        say("stopped")


def _prepare(command: str) -> None:
    """Before anything of the service is imported."""
    for module in ("fastapi", "uvicorn"):
        require(module, "serve", command)
    # Read when numpy is first imported, so set before. Products of sentences gain nothing from
    # more threads, and several threads of ours make products at a time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
