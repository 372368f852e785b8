"""The pyramid of gated local compositions: from the words of a text to its pooled levels.

``reference`` is the definition; ``packed`` (portable), ``compiled_forward`` and
``compiled_backward`` with ``cpu`` (numba) and ``cuda`` (Triton) are faster twins tested against
it; ``dispatch`` chooses among them, and ``layout`` says where things lie. Import from the modules:
this one stays without torch, because layout and compiled passes serve prediction too.
"""

#: Where relu ends. Without an end, units of a trained network may grow by a factor a level and
#: overflow on texts of a few hundred words.
RELU_CAP = 1e4
