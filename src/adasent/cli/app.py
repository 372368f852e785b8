"""The command ``adasent``: its commands and global options.

Importing this must stay quick, so no command imports torch, scikit-learn or gensim before it runs.
"""

from __future__ import annotations

from typing import Annotated

import typer

from adasent.cli import data, vectors
from adasent.cli.compare import compare
from adasent.cli.crossval import crossval
from adasent.cli.evaluate import evaluate
from adasent.cli.explain import explain
from adasent.cli.export import export
from adasent.cli.predict import predict
from adasent.cli.profile import profile
from adasent.cli.root import new_app
from adasent.cli.serve import serve
from adasent.cli.suggest import suggest
from adasent.cli.systems import systems
from adasent.cli.teach import teach
from adasent.cli.train import train
from adasent.cli.try_ import try_
from adasent.version import __version__

app = new_app(add_completion=True)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"adasent {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    unpack_all: Annotated[
        bool,
        typer.Option("--unpack-all", help="Read packed files that unpack to hundreds of times."),
    ] = False,
) -> None:
    """Classify short texts with AdaSent: train, test and use small models.

    \b
    Examples:
      adasent explain "not a bad film"
      adasent train reviews.csv --out model
      echo "what a lovely film" | adasent predict model
    """


for command in (
    train,
    teach,
    evaluate,
    crossval,
    compare,
    systems,
    predict,
    suggest,
    explain,
    profile,
    export,
    serve,
):
    app.command()(command)
app.command("try")(try_)
app.add_typer(data.app, name="data")
app.add_typer(vectors.app, name="vectors")
