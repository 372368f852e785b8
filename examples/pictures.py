"""The pictures and figures of docs/why.md, from the model that ``make demo`` leaves in demo-output.

Also what that model says of no words, unknown words and one word, for docs/explanations.md.

python examples/pictures.py [MODEL]
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

import adasent
from adasent.explain import Explanation, plots
from adasent.explain.reading import percent
from adasent.training.history import History

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "why.md"
TEXTS = [
    "it is not as funny as it wants to be",
    "a warm and funny film that earns its tears",
    "two hours i will never get back",
    "not a bad film at all",
]
PHRASE = "not a bad film"
#: Of a few words or none; the first words are in no vocabulary.
SHORT = {
    "": "no text, or nothing that is a word",
    "blorfy": "an unknown word",
    "blorfy zwekk quorble mimdo thrappy": "five unknown words",
    "film": "",
    "funny": "",
    "waste": "",
    "not": "",
}


def main(model: Path = ROOT / "demo-output" / "model", page: Path = PAGE) -> None:
    predictor = adasent.load(model)
    explanations = predictor.explain(TEXTS)
    figures = {
        "pyramid": plots.pyramid(explanations[0]),
        "votes": plots.votes(explanations[0]),
        "beliefs": plots.beliefs(explanations),
        "decomposition": plots.decomposition(predictor, PHRASE),
        "training": plots.training(History.from_dict(predictor.training_["history"])),
    }
    for name, figure in figures.items():
        plots.save(figure, page.parent / "pictures" / f"{name}.svg")
    parts = {
        "terminal": terminal(model, TEXTS[0]),
        "reading": reading(explanations[0]),
        "votes": votes(explanations[0]),
        "span": span(predictor.explain(PHRASE)),
    }
    put(page, parts)
    put(page.parent / "explanations.md", {"short": short(predictor)})


def put(page: Path, parts: dict[str, str]) -> None:
    """Fill the parts of a page."""
    text = page.read_text(encoding="utf-8")
    for name, body in parts.items():
        text = fill(text, name, body)
    page.write_text(text, encoding="utf-8")


def short(predictor: adasent.Predictor) -> str:
    """What the model says of the short texts, as a table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that words are missing is what this is about
        found = predictor.predict_proba(list(SHORT))
    head = ["text", *map(str, predictor.classes_)]
    rows = [
        [name or f'"{text}"', *map(percent, row)]
        for (text, name), row in zip(SHORT.items(), found.tolist(), strict=True)
    ]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def terminal(model: Path, text: str) -> str:
    """What ``adasent explain`` prints where there are no colours."""
    code = "from adasent.cli import main; main()"
    command = [sys.executable, "-c", code, "explain", str(model), text]
    printed = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    lines = [line.rstrip() for line in printed.splitlines()]
    shown = f'$ adasent explain demo-output/model "{text}"'
    return "\n".join(["```console", shown, *lines, "```"])


def reading(why: Explanation) -> str:
    """The same in words."""
    i = why.column(why.predicted)
    order = np.argsort(-why.words[:, i])
    speaks = [f'"{why.tokens[j]}"' for j in order]
    top, total = int(why.beliefs.argmax()), why.probabilities[i]
    return f"""\
1. **The verdict**: {why.verdict}.
2. **The words**, with what they add. {speaks[0]} and {speaks[1]} add most to {why.predicted}; \
{speaks[-1]} and {speaks[-2]}
   take most away.
3. **The phrases**, as a sum: from what the model says of no words at all, {why.base[i]:.2f}, to \
its answer, {total:.2f}.
   {together(why)}
4. **The lengths.** Phrases of {top + 1} words count most ({why.beliefs[top]:.3f}) and add \
{why.level_scores[top, i]:+.3f}. These add up exactly."""


def together(why: Explanation) -> str:
    """Which words act together."""
    found = [f'"{one.text}"' for one in why.phrases if one.end - one.start > 1]
    if not found:
        return "Here no words act together: every word stands by itself."
    return f"Words that act together stand as one: {', '.join(found)}."


def votes(why: Explanation) -> str:
    """Which levels would have said the same alone."""
    i = why.column(why.predicted)
    alone = why.level_probabilities[:, i]
    agree = [str(t + 1) for t in np.flatnonzero(why.level_probabilities.argmax(axis=1) == i)]
    levels = f"levels {', '.join(agree)} of {len(alone)}"
    if len(agree) == len(alone):
        levels = f"all {len(alone)} levels"
    least = int(alone.argmin())
    return (
        f"Alone, {levels} would have said {why.predicted}. "
        f"The least convinced is level {least + 1} ({alone[least]:.2f}), the most level "
        f"{int(alone.argmax()) + 1} ({alone.max():.2f})."
    )


def span(why: Explanation) -> str:
    """The effective span of the unit at the top."""
    weights = why.spans[-1][0]
    parts = ", ".join(
        f'"{word}" {weight:.0%}' for word, weight in zip(why.tokens, weights, strict=True)
    )
    return f"Its effective span, with half of each composition given to either side: {parts}."


def fill(page: str, name: str, body: str) -> str:
    """Replace what stands between two marks."""
    begin, end = f"<!-- {name}: made by examples/pictures.py -->", f"<!-- end of {name} -->"
    head, found, rest = page.partition(begin)
    _, found_end, tail = rest.partition(end)
    if not (found and found_end):
        raise ValueError(f"expected {begin} and {end} in the page; put them back")
    return f"{head}{begin}\n{body}\n{end}{tail}"


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
