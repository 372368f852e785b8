"""A saved model as a local web page and an HTTP service; needs the extra ``serve``.

``requests`` (what is accepted) -> ``batching`` (whose turn it is) -> ``tasks`` (what is computed),
put together in ``app`` and run by ``server``. ``static`` is the page.
"""
