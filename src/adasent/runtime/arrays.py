"""Names for the three kinds of arrays the runtime passes around."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]  # units and weights
Doubles = NDArray[np.float64]  # beliefs and probabilities
Ints = NDArray[np.int64]  # ids, lengths, rows
