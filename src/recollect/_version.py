"""The version number, in the one place that the build, the CLI and the docs read."""

__version__ = "0.1.0"
