"""scikit-learn's ``random_state`` in; one whole number that seeds everything out."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from adasent.checks import check_range


def seed_from(random_state: int | np.random.RandomState | None, highest: int) -> int:
    """The seed itself if it is one, from 0 to ``highest``; else a draw from the generator."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        check_range("random_state", int(random_state), 0, highest, whole=True)
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
