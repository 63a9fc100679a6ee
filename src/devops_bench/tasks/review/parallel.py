"""Rules about copies: many combos of one task run side by side on a host, in a project, sometimes in a cluster."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from devops_bench.tasks.review.shape import CLUSTER_SCOPED
from devops_bench.tasks.review.subject import Hit, Subject

_HOST_PATH = re.compile(r"(?<![\w$}/.])(/tmp/|/var/tmp/|/home/|/root/|~/|\$\{?HOME\}?/)[\w./{}$-]*")
_PORT = re.compile(
    r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0):(\d{2,5})\b"
    r"|port-forward\b.*?\s(\d{2,5}):"
    r"|--(?:local-)?port[= ](\d{2,5})\b"
)
_MARKER = re.compile(r"\{\{\s*(CLUSTER_NAME|GKE_CLUSTER_NAME|NAMESPACE)\s*\}\}")
_NAMING_KEY = re.compile(r"(^|_)(name|cluster|network|subnet|bucket|account|sa|prefix)$")
_PROJECT_GRANT = re.compile(r'resource\s+"google_project_iam_(member|binding|policy)"\s+"([^"]+)"')
_OWN_PATHS = ("file:", "repo_path:")  # of checks: inside the agent's private folders


def host_path(subject: Subject) -> Iterator[Hit]:
    """Paths of the host, in the task and in setup scripts (those run on the host; agents have a /tmp of their own)."""
    sources = [(subject.found.file, subject.text.splitlines())]
    sources += [(path, lines) for path, lines in subject.files("setup") if path.suffix == ".sh"]
    for path, lines in sources:
        inside_check = False
        for number, text in enumerate(lines, 1):
            if path == subject.found.file:
                inside_check = _in_verification(text, inside_check)
                if inside_check or text.strip().startswith(_OWN_PATHS):
                    continue
            found = _HOST_PATH.search(text)
            if found and not _MARKER.search(text) and not text.lstrip().startswith("#"):
                yield Hit(number, f"fixed path {found[0]}", "put {{CLUSTER_NAME}} into it, or use the workspace", path)


def _in_verification(text: str, inside: bool) -> bool:
    """Whether a line of task.yaml belongs to verification_spec: checks run in the agent's world."""
    if text[:1].strip() and not text.startswith(("#", "-")):
        return text.startswith("verification_spec:")
    return inside


def fixed_port(subject: Subject) -> Iterator[Hit]:
    """Ports of the host in the task and in setup; hostPort and nodePort where clusters share a host."""
    sources = [(subject.found.file, subject.text.splitlines())]
    sources += [(path, lines) for path, lines in subject.files("setup") if path.suffix == ".sh"]
    for path, lines in sources:
        for number, text in enumerate(lines, 1):
            found = _PORT.search(text)
            if found and not text.lstrip().startswith("#"):
                port = next(group for group in found.groups() if group)
                yield Hit(number, f"fixed port {port}", "let the system choose one (port 0)", path)
    if subject.spec and subject.spec.provider in {"kind", "existing"}:
        for path, lines in subject.files("setup"):
            for number, text in enumerate(lines, 1):
                found = re.search(r"\b(hostPort|nodePort):\s*(\d+)", text)
                if found:
                    yield Hit(number, f"fixed {found[1]} {found[2]}", "leave it out, or use a Service", path)


def shared_name(subject: Subject) -> Iterator[Hit]:
    """Cluster-scoped objects in a shared cluster, named cloud resources in a shared project."""
    spec = subject.spec
    if spec is None:
        return
    if spec.provider == "existing":
        for path, line, item in subject.setup_objects():
            name = str((item.get("metadata") or {}).get("name", ""))
            if str(item.get("kind", "")).lower() in CLUSTER_SCOPED and not _MARKER.search(name):
                yield Hit(
                    line, f"{item['kind']} {name} is shared by all copies", "put {{NAMESPACE}} into its name", path
                )
    if spec.infrastructure.deployer not in {"noop", "none"}:
        for name, value in spec.infrastructure.variables.items():
            if isinstance(value, str) and _NAMING_KEY.search(name) and value and not _MARKER.search(value):
                place = ("infrastructure", "variables", name)
                yield Hit(subject.line(*place), f"{name} is {value!r} in every copy", "put {{CLUSTER_NAME}} into it")


def project_iam(subject: Subject) -> Iterator[Hit]:
    """Project-wide grants in a stack: one copy's destroy takes them from all others."""
    for path in sorted(subject.folder.rglob("*.tf")):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for number, text in enumerate(lines, 1):
            found = _PROJECT_GRANT.search(text)
            if not found:
                continue
            body = " ".join(lines[number : number + 12])
            own_account = re.search(r"google_service_account\.\w+\.(email|member)", body)
            if found[1] == "member" and own_account:
                continue
            what = f"google_project_iam_{found[1]} {found[2]} is shared by all copies"
            yield Hit(number, what, "grant to a service account that this copy makes, on the resource", path)


def duplicate_id(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Hit]]:
    """Reports go by task_id."""
    by_id: dict[str, list[Subject]] = defaultdict(list)
    for subject in subjects:
        if subject.spec:
            by_id[subject.spec.task_id].append(subject)
    for name, group in by_id.items():
        for subject in group[1:]:
            first = group[0].found.key
            yield subject, Hit(subject.line("task_id"), f"task_id {name!r} is also that of {first}", "choose another")


def duplicate_folder(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Hit]]:
    """Result folders and rows show the folder's name; two of one name are told apart by their parents only."""
    by_name: dict[str, list[Subject]] = defaultdict(list)
    for subject in subjects:
        by_name[subject.folder.name.casefold()].append(subject)
    for group in by_name.values():
        for subject in group[1:]:
            yield subject, Hit(1, f"folder {subject.folder.name} is also called {group[0].found.key}", "rename one")
