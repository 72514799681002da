"""Measuring: how well a memory recalls, for data whose evidence is known.

Reads data, stores it through the public API, asks, and counts. Decides nothing about recall.
"""
