"""Contexts: what one model call is sent, counted in tokens. Pure functions; the engine reads."""
