"""``adasent explain``: a model and a text in; why it got its label, on the screen or in a file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adasent.cli.console import console, say, table
from adasent.cli.models import open_adasent
from adasent.cli.options import Json, Model
from adasent.errors import AdaSentWarning, ConfigError

if TYPE_CHECKING:
    from rich.text import Text as RichText

    from adasent.explain import Explanation
    from adasent.explain.reading import Reading

_MAX_FOR, _MAX_AGAINST = 7, 4
_MAX_LEVELS = 20
_BAR = 30
_MAX_JSON_WORDS = 200  # whose spans take 30 MB of JSON

Picture = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the pyramid.")]


def explain(
    model: Model,
    text: Annotated[str, typer.Argument(help="The text to explain.")],
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page of its own.")
    ] = None,
    png: Picture = None,
    svg: Picture = None,
    as_json: Json = False,
    contrast: Annotated[
        tuple[str, str] | None, typer.Option(metavar="A B", help="Why A rather than B.")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Score words by leaving out each in turn: slower.")
    ] = False,
    dark: Annotated[bool, typer.Option("--dark", help="Draw for a dark background.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Show why a text gets its label: which scales, phrases and words decided.

    \b
    Examples:
      adasent explain model "not a bad film at all"
      adasent explain model "not a bad film" --html why.html --contrast positive negative
    """
    from adasent.explain import explain as why
    from adasent.explain.html import page
    from adasent.explain.reading import read_for

    files = {"--html": html, "--png": png, "--svg": svg}
    for option, path in files.items():
        if path is not None:
            _check_target(option, path, force)
    found = why(open_adasent(model, "adasent explain"), text, exact=exact)
    a, b = (_label(found, name) for name in contrast) if contrast else (None, None)
    if html is not None:
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(page([found], a, b), encoding="utf-8")
    for path in (png, svg):
        if path is not None:
            from adasent.explain import plots

            plots.save(plots.pyramid(found, a, b, dark=dark), path)
    if as_json:
        say(found.to_json(pyramid=_fits(found)))
    elif not any(files.values()):
        _print(found, read_for(found, a, b))


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


def _print(explanation: Explanation, reading: Reading) -> None:
    out = console()
    say(_printable(reading.title))
    say()
    out.print(_words(explanation, reading), soft_wrap=True)
    if explanation.truncated:
        read = len(explanation.tokens)
        say(f"(only the first {read} of {explanation.n_words} words were read)")
    say()
    levels = table(">level", ">belief", ">contributed", "")
    largest = max(abs(float(part)) for part in reading.levels) or 1.0
    rows = list(zip(explanation.beliefs, reading.levels, strict=True))
    for level in range(min(len(rows), _MAX_LEVELS), 0, -1):
        belief, part = rows[level - 1]
        bar = ("█" if part >= 0 else "░") * round(_BAR * abs(float(part)) / largest)
        levels.add_row(str(level), f"{belief:.3f}", f"{part:+.4f}", bar)
    out.print(levels)
    if len(rows) > _MAX_LEVELS:
        rest = sum(float(part) for _, part in rows[_MAX_LEVELS:])
        say(f"and {len(rows) - _MAX_LEVELS} higher levels, {rest:+.4f} together")
    say()
    phrases = table(">score", "phrase", ">level")
    chosen = [phrase for phrase in reading.phrases if phrase.score[0] > 0][:_MAX_FOR]
    chosen += [phrase for phrase in reading.phrases if phrase.score[0] < 0][-_MAX_AGAINST:]
    for phrase in chosen:
        text = _printable(phrase.text)
        phrases.add_row(f"{phrase.score[0]:+.4f}", text, str(phrase.level))
    out.print(phrases)
    say()
    say(f"levels add up to {reading.total:.4f} exactly; scores are estimates: {explanation.method}")


def _words(explanation: Explanation, reading: Reading) -> RichText:
    """The text with a background behind its words; where there are no colours, their scores."""
    from rich.text import Text

    from adasent.explain.reading import relative

    plain = not console().is_terminal
    made, done = Text(), 0
    for (start, end), share, score in zip(
        explanation.offsets, relative(reading.words), reading.words, strict=True
    ):
        made.append(_printable(explanation.text[done:start]))
        word = _printable(explanation.text[start:end])
        made.append(word, style=_style(float(share)))
        if plain and abs(share) >= 0.1:
            made.append(f"[{score:+.2f}]")
        done = end
    made.append(_printable(explanation.text[done:]))
    return made


def _style(share: float) -> str:
    """Dark ink on a shade of blue for, of orange against; none near 0."""
    if abs(share) < 0.1:
        return ""
    full = (0, 114, 178) if share > 0 else (213, 94, 0)
    red, green, blue = (round(255 - (255 - channel) * abs(share)) for channel in full)
    ink = "#ffffff" if abs(share) > 0.6 else "#000000"
    return f"{ink} on #{red:02x}{green:02x}{blue:02x}"


def _printable(text: str) -> str:
    """A text that cannot steer the terminal: one line, no control characters."""
    return "".join(c if c.isprintable() else " " for c in text)
