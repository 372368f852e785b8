"""``adasent systems``: what can be trained and compared, as a table."""

from __future__ import annotations

from typing import Annotated

import typer

from adasent.cli.console import console, say, table
from adasent.cli.options import settable
from adasent.estimators.registry import SYSTEMS


def systems(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Show its settings.")] = None,
) -> None:
    """List the systems that --system takes, or the settings of one for --set.

    \b
    Examples:
      adasent systems
      adasent systems cbow
    """
    if name is not None:
        settings = table("setting", "default", "what it is")
        for key, one in sorted(settable(name).items()):
            settings.add_row(key, _shown(one.default), one.help)
        console().print(settings)
        say()
        say(f"adasent train DATA --out DIR --system {name} --set setting=value")
        return
    shown = table("name", "what it is", "from", "vectors", "extras")
    for system, entry in SYSTEMS.items():
        takes = "yes" if entry.vectors else "no"
        shown.add_row(system, entry.summary, entry.paper, takes, entry.extras)
    console().print(shown)
    say()
    say("vectors: takes --vectors; extras: pip install 'adasent[EXTRAS]' brings what it needs,")
    say("but for a saved model of adasent, which labels texts without any")


def _shown(default: object) -> str:
    """A default as --set would write it."""
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return str(default).lower() if default is None or isinstance(default, bool) else str(default)
