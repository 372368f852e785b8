"""A saved model as a local web page and an HTTP service; needs the extra ``serve``.

``limits`` (what is accepted) -> ``batching`` (whose turn it is) -> ``work`` (what is computed), put
together in ``app``, counted in ``metrics`` and run by ``server``. ``static`` is the page.
"""
