"""The model in the box: sentiment of film reviews, so that there is something to ask at once.

It is an ordinary model folder inside of the package, with a card beside it;
``benchmarks/starter.py`` makes both.
"""

from __future__ import annotations

import os
from pathlib import Path

#: What ``load`` and the commands take for it.
STARTER = "starter"
#: Its card, in its folder.
CARD = "README.md"


def starter_folder() -> Path:
    """Where it is."""
    return Path(__file__).parents[1] / STARTER


def find_model(folder: str | os.PathLike[str]) -> Path:
    """The folder that is meant: of that name; or ours, if there is none and the name is ours."""
    path = Path(folder)
    return starter_folder() if str(path) == STARTER and not path.exists() else path
