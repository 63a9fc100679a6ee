"""Hatchling hooks: the version from the Go pins, and the binary as data of a platform wheel.

Works in the repository and in an unpacked source distribution, which has the same two folders: `controlplane` (Go) and
`src/devops_bench` (the few modules that find or build the binary).
"""

from __future__ import annotations

import json
import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

# What the build needs of devops-bench itself.
MODULES = (
    "__init__.py",
    "_version.py",
    "errors.py",
    "paths.py",
    "clusters/__init__.py",
    "clusters/binary.py",
    "clusters/build.py",
    "clusters/gotool.py",
    "clusters/pins.py",
)
# A static binary runs on any Linux of its architecture, whatever the C library.
TAGS = ("manylinux_2_17", "manylinux2014", "musllinux_1_1")


def layout(root: Path) -> Path:
    """The folder that holds `controlplane` and `src`: the source distribution's root, or the repository's."""
    for folder in (root, root.parents[1]):
        if (folder / "controlplane" / "go.mod").is_file():
            return folder
    raise SystemExit(f"{root}: no Go sources beside this package")


def use_devops_bench(root: Path) -> Path:
    """Make the repository's `devops_bench` importable here; returns the Go sources."""
    home = layout(root)
    sys.path.insert(0, str(home / "src"))
    return home / "controlplane"


class CustomMetadataHook(MetadataHookInterface):
    """Sets `version`: the pinned Kubernetes, with `.postN` for the N-th re-release of it."""

    def update(self, metadata: dict[str, Any]) -> None:
        sources = use_devops_bench(Path(self.root))
        from devops_bench.clusters.pins import pinned

        revision = int(self.config.get("revision", 0))
        metadata["version"] = pinned(sources)["kubernetes"].removeprefix("v") + (f".post{revision}" if revision else "")


class CustomBuildHook(BuildHookInterface[Any]):
    """Puts the sources into a source distribution, the binary into a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sources = use_devops_bench(Path(self.root))
        if self.target_name == "sdist":
            self._sources(sources, build_data)
        elif version != "editable":
            self._binary(sources, build_data)

    def _sources(self, sources: Path, build_data: dict[str, Any]) -> None:
        home = sources.parent
        for name in MODULES:
            build_data["force_include"][str(home / "src/devops_bench" / name)] = f"src/devops_bench/{name}"
        from devops_bench.clusters.binary import source_files

        for path in source_files(sources):
            build_data["force_include"][str(path)] = f"controlplane/{path.relative_to(sources)}"

    def _binary(self, sources: Path, build_data: dict[str, Any]) -> None:
        from devops_bench.clusters import binary
        from devops_bench.clusters.build import BINARY, KUBECTL
        from devops_bench.clusters.pins import pinned
        from devops_bench.errors import BenchError

        try:
            found = binary.ensure(lambda progress: self._tell(progress.phase, progress.done, progress.total))
            versions = binary.versions(found)
        except BenchError as error:
            raise SystemExit(f"error: {error.message()}") from None
        wanted = pinned(sources)["kubernetes"]
        if versions.get("kubernetes") != wanted:
            raise SystemExit(f"error: {found} holds kubernetes {versions.get('kubernetes')}, the sources pin {wanted}")
        self.scratch = Path(tempfile.mkdtemp(prefix="controlplane-wheel-"))
        facts = {"source_key": binary.source_key(sources), "versions": versions}
        (self.scratch / "build.json").write_text(json.dumps(facts, indent=1) + "\n")
        package = "devops_bench_controlplane"
        build_data["force_include"][str(found)] = f"{package}/{BINARY}"
        alone = found.with_name(KUBECTL)
        if alone.is_file():  # not beside one that DEVOPS_BENCH_KUBE names
            build_data["force_include"][str(alone)] = f"{package}/{KUBECTL}"
        build_data["force_include"][str(self.scratch / "build.json")] = f"{package}/build.json"
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + ".".join(f"{tag}_{platform.machine()}" for tag in TAGS)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(getattr(self, "scratch", ""), ignore_errors=True)

    def _tell(self, phase: str, done: int, total: int) -> None:
        if done % 100 == 0:
            self.app.display_info(f"{phase}: {done} of {total} packages")
