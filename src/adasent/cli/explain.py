"""``adasent explain``: a model and a text in; why it got its label, on the screen or in a file."""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adasent.cli.console import console, printable, say, table
from adasent.cli.models import open_adasent, say_starter
from adasent.cli.options import Json, command
from adasent.errors import AdaSentWarning, ConfigError
from adasent.estimators.starter import STARTER, find_model, starter_folder
from adasent.saving.whole import whole_file

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text as RichText

    from adasent.explain import Explanation
    from adasent.explain.reading import Part, Reading

_MAX_LEVELS = 20
_BAR = 30
_FAINT = 0.3  # of a part's strength: words below it are not marked
_MAX_KEYS = 8  # classes in a legend
_MAX_JSON_WORDS = 200  # whose spans take 30 MB of JSON

Picture = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the pyramid.")]


def explain(
    model: Annotated[
        str | None,
        typer.Argument(metavar="DIR", help="Folder of a trained model; none: the starter model."),
    ] = None,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="The text to explain.")] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page of its own.")
    ] = None,
    png: Picture = None,
    svg: Picture = None,
    as_json: Json = False,
    contrast: Annotated[
        tuple[str, str] | None, typer.Option(metavar="A B", help="Why A rather than B.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="shapley|fast",
            help="How words are scored: right before cheap, or the other way round.",
        ),
    ] = "shapley",
    dark: Annotated[bool, typer.Option("--dark", help="Draw for a dark background.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Show why a text gets its label: which scales, phrases and words decided.

    Without a model, the one that comes with adasent is asked: film reviews in
    English. With a model and no text, the text is read from standard input.

    \b
    Examples:
      adasent explain "not a bad film"
      adasent explain model "not a bad film at all"
      adasent explain model "not a bad film" --html why.html --contrast positive negative
    """
    from adasent.explain import explain as why
    from adasent.explain.html import page
    from adasent.explain.reading import MOST_ANSWERS, read_for

    files = {"--html": html, "--png": png, "--svg": svg}
    for option, path in files.items():
        if path is not None:
            _check_target(option, path, force)
    folder, asked = _model_and_text(model, text)
    found = why(open_adasent(folder, "adasent explain"), asked, method=method)
    a, b = (_label(found, name) for name in contrast) if contrast else (None, None)
    if html is not None:
        html.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(html) as stream:
            stream.write(page([found], a, b).encode())
    for path in (png, svg):
        if path is not None:
            from adasent.explain import plots

            plots.save(plots.pyramid(found, a, b, dark=dark), path)
    if as_json:
        say(found.to_json(pyramid=_fits(found)))
    elif not any(files.values()):
        several = [] if contrast else [read_for(found, one) for one in found.shown[:MOST_ANSWERS]]
        _print(found, read_for(found, a, b), several)


def _model_and_text(first: str | None, second: str | None) -> tuple[Path, str]:
    """What the arguments mean: one alone is a text, unless it is a folder or written like one."""
    if first is None:
        raise typer.BadParameter("no TEXT to explain.")
    if second is not None:
        return Path(first), second
    if find_model(first).is_dir():
        given = "" if sys.stdin.isatty() else sys.stdin.read().strip()
        if not given:
            raise typer.BadParameter(f"{first} is a model, and there is no TEXT to explain.")
        return Path(first), given
    if _is_like_a_path(first):
        raise ConfigError(
            f"expected a text, or the folder of a model and a text; there is no folder {first}. If "
            f"it is a text, name the model too: {command('adasent', 'explain', STARTER, first)}"
        )
    say_starter()
    return starter_folder(), first


def _is_like_a_path(text: str) -> bool:
    """One word with a slash in it, or with a dot or a tilde before it, as texts are not."""
    one_word = len(text.split()) == 1
    return one_word and ("/" in text or os.sep in text or text.startswith((".", "~")))


def _fits(explanation: Explanation) -> bool:
    """Whether the pyramid is small enough to be printed; a warning says so where it is not."""
    n_words = len(explanation.tokens)
    if n_words > _MAX_JSON_WORDS:
        warnings.warn(
            f"the text has {n_words} words, more than {_MAX_JSON_WORDS}: gates, spans and units "
            "are left out",
            AdaSentWarning,
            stacklevel=2,
        )
    return n_words <= _MAX_JSON_WORDS


def _check_target(option: str, path: Path, force: bool) -> None:
    ending = option.replace("--", ".")
    if path.suffix.lower() != ending:
        raise ConfigError(f"{option}: expected a file name that ends in {ending}, got {path}")
    if path.exists() and not force:
        raise ConfigError(f"{option} {path} is there already; add --force to replace it")


def _label(explanation: Explanation, name: str) -> Any:
    """The label that is written like this."""
    for label in explanation.classes:
        if str(label) == name:
            return label
    names = ", ".join(map(str, explanation.classes))
    raise ConfigError(f"--contrast: expected two of the labels {names}, got {name!r}")


def _print(explanation: Explanation, reading: Reading, several: list[Reading]) -> None:
    """On the screen; where a text has several labels, the phrases of each."""
    out = console()
    say(_one_line(reading.title if reading.margin else explanation.verdict))
    say()
    out.print(_words(explanation, reading), soft_wrap=True)
    if explanation.truncated:
        read = len(explanation.tokens)
        say(f"(only the first {read} of {explanation.n_words} words were read)")
    say()
    for one in several or [reading]:
        out.print(_phrases(one))
        say()
    out.print(_levels(explanation, reading))
    n_more = len(explanation.beliefs) - _MAX_LEVELS
    if n_more > 0:
        rest = sum(part.value for part in reading.levels[_MAX_LEVELS:])
        say(f"and {n_more} greater lengths, {rest:+.3f} together")
    say()
    if any(one.beyond for one in reading.listed[0]):
        say("beyond its words: what a phrase says and its words, one by one, do not")
    say("length: phrases of so many words; counts: how much the model relies on them")
    of = f" of {_one_line(several[0].title.rpartition(',')[0])}" if len(several) > 1 else ""
    say(f"phrases and lengths{of} each add up from {reading.base:.4f} to {reading.total:.4f}")
    say(f"scores of words: {explanation.method}")
    if out.is_terminal:
        out.print(_legend(explanation))


def _phrases(reading: Reading) -> Table:
    """From what is said of no word to the answer, phrase by phrase."""
    from rich.text import Text

    from adasent.explain.reading import LEAST_SHOWN

    listed, rest = reading.listed
    more = "beyond its words" if any(one.beyond for one in listed) else ""
    made = table(">adds", "phrase", more)
    made.add_row(f"{reading.base:.2f}", "(what the model says of no words at all)", "")
    for one in listed:
        text = Text().append(_one_line(one.text), style=_style(one.part))
        made.add_row(f"{one.part.value:+.2f}", text, one.beyond)
    if abs(rest) >= LEAST_SHOWN:
        made.add_row(f"{rest:+.2f}", "(everything else)", "")
    made.add_row(f"{reading.total:.2f}", f"({_one_line(reading.title)})", "")
    return made


def _levels(explanation: Explanation, reading: Reading) -> Table:
    """How much phrases of each length count, and what they add."""
    from rich.text import Text

    made = table(">length", ">counts", ">adds", "")
    top = float(explanation.beliefs.max())
    rows = list(zip(explanation.beliefs.tolist(), reading.levels, strict=True))
    for n_words in range(min(len(rows), _MAX_LEVELS), 0, -1):
        belief, part = rows[n_words - 1]
        bar = Text("█" * round(_BAR * belief / top), style=part.colour)
        made.add_row(str(n_words), f"{belief:.3f}", f"{part.value:+.3f}", bar)
    return made


def _words(explanation: Explanation, reading: Reading) -> RichText:
    """The text with a background behind its words; where there are no colours, their scores."""
    from rich.text import Text

    plain = not console().is_terminal
    made, done = Text(), 0
    for (start, end), part in zip(explanation.offsets, reading.words, strict=True):
        made.append(_one_line(explanation.text[done:start]))
        word = _one_line(explanation.text[start:end])
        made.append(word, style=_style(part))
        if plain and part.strength >= _FAINT:
            made.append(f"[{part.value:+.2f}]")
        done = end
    made.append(_one_line(explanation.text[done:]))
    return made


def _legend(explanation: Explanation) -> RichText:
    """The classes in their colours."""
    from rich.text import Text

    from adasent.explain.reading import colour_of

    made = Text("a colour is the class that a part adds most to:")
    for i, label in enumerate(explanation.classes[:_MAX_KEYS]):
        made.append(f" {_one_line(str(label))} ", style=_on(*_channels(colour_of(i))))
    return made


def _style(part: Part) -> str:
    """Ink on a shade of the part's colour; none where it adds next to nothing."""
    if part.strength < _FAINT:
        return ""
    red, green, blue = (
        round(255 - (255 - channel) * part.strength) for channel in _channels(part.colour)
    )
    return _on(red, green, blue)


def _channels(colour: str) -> tuple[int, int, int]:
    """Red, green and blue."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _on(red: int, green: int, blue: int) -> str:
    """A background with ink that can be read on it."""
    light = 0.299 * red + 0.587 * green + 0.114 * blue  # as bright as eyes take it for
    ink = "#000000" if light > 140 else "#ffffff"
    return f"{ink} on #{red:02x}{green:02x}{blue:02x}"


def _one_line(text: str) -> str:
    """A text on one line, without what steers a terminal."""
    return printable(re.sub(r"\s", " ", text))
