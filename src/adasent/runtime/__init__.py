"""Prediction and traces with numpy alone, along the path of a sentence.

``network`` looks words up, ``climb`` builds their pyramids and ``head`` makes probabilities of the
pooled levels; the user meets ``adasent.load``. Nothing here imports torch; ``compiled`` speeds up
large calls where numba is installed.
"""
