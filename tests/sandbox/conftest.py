"""Sandboxes for these tests."""

from tests.boxes import any_box, bare_mode, box, cluster, make_box, mode

__all__ = ["any_box", "bare_mode", "box", "cluster", "make_box", "mode"]
