"""Classes -> colours that colour-blind readers can tell apart (Okabe and Ito 2008)."""

from __future__ import annotations

#: One a class, in their order; beyond the last one they are used again from the first.
CLASS_COLOURS = (
    "#d55e00",
    "#0072b2",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#7a6f00",
    "#6a6a6a",
)
