"""Saved models as a local web page and an HTTP service; needs the extra ``serve``.

A request comes through ``connections`` (what a client may do before it has asked anything),
``front`` (its id, the short way), ``hosts`` and ``access`` (who may ask), ``limits`` (what is
accepted), ``batching`` (whose turn it is) and ``work`` (what is computed) of one of the ``models``.
All that is put together in ``app``, counted in ``metrics``, logged in ``logs``, traced in
``telemetry`` and run by ``server``, in several ``workers`` if need be; ``reload`` replaces models.
``static`` is the page.
"""
