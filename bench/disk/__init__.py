"""What the state of a pipeline of ten views takes on disk, and which part of it is for what.

``python -m bench.disk`` builds a bike-share pipeline, makes a version after every file, and prints the bytes
of its folder by what they are; ``python -m bench.disk FOLDER`` does so with any state folder. It has no goal:
it tells where space goes, beside the Parquet that the rows came from.
"""
