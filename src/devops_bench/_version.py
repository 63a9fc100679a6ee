"""The one place that holds the version, so that `--version` reads no package metadata."""

__version__ = "0.1.0"
