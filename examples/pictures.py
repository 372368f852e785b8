"""The pictures and figures of docs/why.md, from the model that ``make demo`` leaves in demo-output.

python examples/pictures.py [MODEL]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import adasent
from adasent.explain import Explanation, plots
from adasent.training.history import History

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "why.md"
TEXTS = [
    "the cast is better than the script deserves",
    "a warm and funny film that earns its tears",
    "two hours i will never get back",
    "not a bad film at all",
]
PHRASE = "not a bad film"


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
    text = page.read_text(encoding="utf-8")
    for name, body in parts.items():
        text = fill(text, name, body)
    page.write_text(text, encoding="utf-8")


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
    top = int(why.beliefs.argmax())
    return f"""\
1. **The label** and its probability: {why.predicted}, {why.probabilities[i]:.2f}.
2. **The words.** {speaks[0]} and {speaks[1]} speak most for {why.predicted}; {speaks[-1]} and \
{speaks[-2]} most
   against it.
3. **The levels.** Level t reads phrases of t words. The model believes level {top + 1} most \
({why.beliefs[top]:.3f}); what
   that level says, times the belief, is {why.contributions[top, i]:.3f} of the \
{why.probabilities[i]:.3f}. These add up exactly.
4. **The phrases** behind it, with copies of a word counted as that word."""


def votes(why: Explanation) -> str:
    """Which levels would have said the same alone."""
    i = why.column(why.predicted)
    alone = why.level_probabilities[:, i]
    agree = [str(t + 1) for t in np.flatnonzero(why.level_probabilities.argmax(axis=1) == i)]
    least = int(alone.argmin())
    return (
        f"Alone, levels {', '.join(agree)} of {len(alone)} would have said {why.predicted}. "
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
