"""``adasent try``: the page with the model that comes with the package, at once."""

from __future__ import annotations

import os
import sys
import webbrowser
from typing import Annotated

import typer

from adasent.cli.console import console, say
from adasent.cli.serve import run_page
from adasent.estimators.starter import CARD, starter_folder


def try_(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; 0 takes one that is free.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
    card: Annotated[
        bool, typer.Option("--card", help="Print what the model is and how good, and stop.")
    ] = False,
) -> None:
    """Type a sentence and see why it got its label: a page with the starter model.

    The model comes with adasent and says whether a text about a film, in
    English, is positive or negative. Only this machine can connect.

    \b
    Examples:
      adasent try
      adasent try --card
    """
    if card:
        from rich.markdown import Markdown

        console().print(Markdown((starter_folder() / CARD).read_text(encoding="utf-8")))
        return

    def ready(address: str) -> None:
        say(f"the starter model, film reviews in English: {address}  (Ctrl-C stops)")
        say("what it is and how good: adasent try --card")
        sys.stdout.flush()
        if browser and _has_display():
            webbrowser.open(address)

    run_page(starter_folder(), "adasent try", port=port, name="film reviews", ready=ready)


def _has_display() -> bool:
    """Whether a browser would be seen; elsewhere one may open in the terminal and take it."""
    if sys.platform in ("darwin", "win32"):
        return "SSH_CONNECTION" not in os.environ
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
