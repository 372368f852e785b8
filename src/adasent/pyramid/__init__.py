"""The pyramid of gated local compositions: tensors in, pooled levels out.

``reference`` is the definition, ``packed`` the fast twin tested against it.
"""

from adasent.pyramid.packed import pyramid_packed
from adasent.pyramid.reference import pyramid_reference
from adasent.pyramid.weights import ACTIVATIONS, POOLINGS, Pyramid, PyramidWeights

__all__ = [
    "ACTIVATIONS",
    "POOLINGS",
    "Pyramid",
    "PyramidWeights",
    "pyramid_packed",
    "pyramid_reference",
]
