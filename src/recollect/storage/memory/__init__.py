"""The in-memory adapter of the store port."""
