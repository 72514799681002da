"""Embedders: texts to vectors, by the model that comes with the package or by any function."""
