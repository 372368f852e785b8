"""Why a text got its label: an explanation as data, as pictures and as a page.

``explain`` makes it with numpy alone, from the same pass that predicts; ``docs/explanations.md``
says what it means and what it does not. ``plots`` needs matplotlib; ``profile`` sums over a corpus.
"""

from adasent.explain.explainer import explain
from adasent.explain.explanation import METHODS, Contrast, Explanation
from adasent.explain.parts import Phrase

__all__ = [
    "METHODS",
    "Contrast",
    "Explanation",
    "Phrase",
    "explain",
]
