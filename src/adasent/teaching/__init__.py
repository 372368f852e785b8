"""A large model teaches a small one: text without labels in, a student that knows its teacher out.

Texts go through these files in order: ``sentences`` reads them, ``augment`` makes more, ``select``
chooses, ``labels`` asks the ``teacher``, ``student`` trains, ``compact`` makes small. ``teach`` is
the whole way.
"""
