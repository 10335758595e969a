"""The command line: thin commands over :class:`penstock.Pipeline`, and the demo.

Nothing is decided here that a Python user could not decide; a command parses, calls and prints.
"""
