"""The pyramid of gated local compositions: tensors in, pooled levels out.

``reference`` is the definition; ``packed`` (portable), ``cells`` with ``cpu`` (numba) and ``fused``
(Triton) are faster twins tested against it; ``dispatch`` chooses among them. Import from the
modules: this one stays empty, because ``cells`` must be importable without torch.
"""
