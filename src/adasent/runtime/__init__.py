"""Prediction and traces with numpy alone, along the path of a sentence.

``words`` -> ``packing`` -> ``pyramid`` -> ``levels`` -> ``consensus``, composed in ``network``; the
user meets ``predictor``. Nothing here imports torch; numba speeds up large calls where it is
installed.
"""
