"""The command ``adasent``: its commands and global options.

Importing this must stay quick, so no command imports torch, scikit-learn or gensim before it runs.
"""

from __future__ import annotations

from typing import Annotated

import typer

from adasent.cli import (
    crossval,
    data,
    evaluate,
    explain,
    predict,
    profile,
    serve,
    systems,
    train,
    vectors,
)
from adasent.cli.root import new_app
from adasent.version import __version__

app = new_app()


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
) -> None:
    """Classify short texts with AdaSent: train, test and use small models.

    \b
    Example:
      adasent train reviews.csv --out model
      echo "what a lovely film" | adasent predict model
    """


app.command("train")(train.train)
app.command("evaluate")(evaluate.evaluate)
app.command("crossval")(crossval.crossval)
app.command("systems")(systems.systems)
app.command("predict")(predict.predict)
app.command("explain")(explain.explain)
app.command("profile")(profile.profile)
app.command("serve")(serve.serve)
app.add_typer(data.app, name="data")
app.add_typer(vectors.app, name="vectors")
