"""Benchmarks: claims about speed that anyone can repeat with one command."""
