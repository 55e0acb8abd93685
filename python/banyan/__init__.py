"""The Python side of a Banyan worker: ipykernel, with each cell's changes reported and others' applied."""

__version__ = "0.1.0"
