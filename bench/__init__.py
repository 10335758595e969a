"""Benchmarks: claims about speed that anyone can repeat with one command.

A benchmark is a module, listed in :mod:`bench.__main__`, whose documentation's first line is the question it
answers. It has ``add_arguments(parser)``, ``run(arguments)`` which returns one or several
:class:`bench.report.Result`, and ``MINUTES``, about how long it takes. Printing, judging, reports and
pictures are done for it.
"""
