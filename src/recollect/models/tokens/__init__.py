"""Tokens: how long a text is to a model."""
