"""Names for the kinds of arrays that prediction and explanations pass around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]  # units and weights
Doubles = NDArray[np.float64]  # beliefs and probabilities
Array = NDArray[Any]  # of either precision
Ints = NDArray[np.int64]  # ids, lengths, rows
