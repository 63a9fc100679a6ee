"""A sandbox and a control plane for the tests of what can be read."""

from __future__ import annotations

from tests.boxes import box, make_box, mode
from tests.verification.conftest import kube, namespace, plane

__all__ = ["box", "kube", "make_box", "mode", "namespace", "plane"]
