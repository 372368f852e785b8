"""``adasent systems``: what can be trained and compared, as a table."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer

from adasent.cli.console import console, say, table
from adasent.cli.options import settable


class About(NamedTuple):
    """A row: what a system is, whose, whether it reads word vectors, and what pip must bring."""

    what: str
    paper: str
    vectors: bool
    extras: str


#: In the order of the registry.
ABOUT = {
    "adasent": About("consensus over a pyramid of phrases", "Zhao et al. 2015", True, "train"),
    "mnb": About("naive Bayes over words and pairs", "Wang & Manning 2012", False, "train"),
    "nbsvm": About("SVM on naive Bayes' ratios", "Wang & Manning 2012", False, "train"),
    "paragraph-vector": About(
        "learnt vectors of whole texts", "Le & Mikolov 2014", False, "train,vectors"
    ),
    "cbow": About("pooled word vectors", "Zhao et al. 2015", True, "train"),
    "rnn": About("recurrent, last state", "Elman 1990", True, "train"),
    "brnn": About("recurrent both ways, max over words", "Lai et al. 2015", True, "train"),
    "grconv": About("top of the pyramid", "Cho et al. 2014", True, "train"),
    "cnn": About("windows of words, max over time", "Kim 2014", True, "train"),
    "dcnn": About("wide convolution, k-max pooling", "Kalchbrenner et al. 2014", True, "train"),
    "rae": About("recursive autoencoder", "Socher et al. 2011", True, "train"),
    "mv-recnn": About("vectors and matrices along a parse", "Socher et al. 2012", True, "train"),
}


def systems(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show its settings.", show_default=False)
    ] = None,
) -> None:
    """List the systems that --system takes, or the settings of one for --set.

    \b
    Examples:
      adasent systems
      adasent systems cbow
    """
    if name is not None:
        settings = table("setting", "default")
        for key, default in sorted(settable(name).items()):
            settings.add_row(key, _shown(default))
        console().print(settings)
        return
    shown = table("name", "what it is", "from", "vectors", "extras")
    for system, about in ABOUT.items():
        takes = "yes" if about.vectors else "no"
        shown.add_row(system, about.what, about.paper, takes, about.extras)
    console().print(shown)
    say()
    say("vectors: takes --vectors; extras: pip install 'adasent[EXTRAS]' brings what it needs,")
    say("but for a saved model of adasent, which labels texts without any")


def _shown(default: object) -> str:
    """A default as --set would write it."""
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return str(default).lower() if default is None or isinstance(default, bool) else str(default)
