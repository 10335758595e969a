"""The command line: thin verbs over :class:`penstock.Pipeline`, and the demo.

Nothing is decided here that a Python user could not decide; a verb parses, calls and prints.
"""
