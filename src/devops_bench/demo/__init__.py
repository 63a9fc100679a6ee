"""The starter matrix: three tasks of the catalogue, two scripted models of different skill, two configurations.

Plain data beside this file: `matrix.yaml`, `scenarios/` (what the models say) and `skills/`. `devops-bench demo` runs
it; nothing in it needs a key, a token or a network.
"""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent
MATRIX = FOLDER / "matrix.yaml"
TASKS = ("workspace/backup-retention", "kwok/pricing-unreachable", "kwok/quota-deadlock")
