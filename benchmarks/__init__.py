"""Measurements of speed and memory, and the plots and tables made from them.

``run.py`` measures and writes CSV; ``plots.py`` and ``tables.py`` read nothing but that CSV.
"""
