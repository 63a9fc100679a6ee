"""The library of simulated faults: from a line of `cluster.yaml` to kwok Stages. Pure.

Nothing pulls an image or runs a process on the embedded control plane, so what a kubelet would report is played by
Stages. Each is keyed on `.spec`: the fault ends when the spec is right, by whatever route, because the built-in stages
take over as soon as the selector no longer matches (controlplane/README.md). Called by `clusters` (the stages file of a
plane) and by whoever has to wait out a stage's delay. What each fault looks like: docs/reference/task.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from devops_bench.tasks.checks import Strict

_BYTES = (
    'def bytes: tostring | capture("^(?<n>[0-9.]+)(?<u>[A-Za-z]*)$") | (.n | tonumber) * '
    '({"": 1, "k": 1e3, "Ki": 1024, "M": 1e6, "Mi": 1048576, "G": 1e9, "Gi": 1073741824, "Ti": 1099511627776}[.u]);'
)
_UNITS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


class OfContainer(Strict):
    """A fault of pods that have a container like this: its image (RE2), and a jq condition on the container.

    `namespace` and `pod` (a jq condition on the pod) narrow it. With `container`, only the container of that name fails
    and the others run; without, all do.
    """

    image: str | None = None
    when: str | None = None
    pod: str | None = None
    namespace: str | None = None
    container: str | None = None

    @model_validator(mode="after")
    def _selects(self) -> OfContainer:
        if not (self.image or self.when or self.pod):
            raise ValueError("needs image, when or pod: otherwise every pod would fail")
        return self

    def condition(self) -> str:
        """jq: true for a container that fails."""
        parts = [f"(.image | test({json.dumps(self.image)}))"] if self.image else []
        parts += [f"({self.when})"] if self.when else []
        parts += [f"(.name == {json.dumps(self.container)})"] if self.container else []
        return " and ".join(parts) or "true"

    def selector(self, *status: dict[str, Any], containers: str = ".spec.containers") -> dict[str, Any]:
        """Of a Stage: running somewhere, with such a container; `status` are conditions on what was not played yet."""
        rules = [_rule(f"[{containers}[]? | select({self.condition()})] | length > 0")]
        rules += [_rule(self.pod)] if self.pod else []
        rules += [_rule(f".metadata.namespace == {json.dumps(self.namespace)}")] if self.namespace else []
        return {"matchExpressions": [{"key": ".spec.nodeName", "operator": "Exists"}, *rules, *status]}

    def state(self, failing: str) -> str:
        """containerStatuses as a template: `failing` for the failing ones, running for the others.

        `failing` holds the fields after `imageID`, one line each.
        """
        lines = ["containerStatuses:", "{{ range .spec.containers }}",
                 "- name: {{ .name | Quote }}", "  image: {{ .image | Quote }}"]  # fmt: skip
        body = [f"  {line}" for line in failing.splitlines()]
        if self.container:
            running = ["  imageID: {{ .image | Quote }}", "  ready: true", "  started: true", "  restartCount: 0",
                       "  state: {running: {startedAt: {{ Now | Quote }}}}"]  # fmt: skip
            body = [f"{{{{ if eq .name {json.dumps(self.container)} }}}}", *body, "{{ else }}", *running, "{{ end }}"]
        return "\n".join([*lines, *body, "{{ end }}"])


class ImagePull(OfContainer):
    """The registry does not have the image: ErrImagePull, ImagePullBackOff, phase Pending."""

    fault: Literal["image-pull"]

    def stages(self, name: str) -> list[dict[str, Any]]:
        """One stage."""
        why = '{{ printf "Back-off pulling image \\"%s\\": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image \\"%s\\": not found" .image .image | Quote }}'  # noqa: E501
        failing = (
            'imageID: ""\nready: false\nstarted: false\nrestartCount: 0\n'
            f"state: {{waiting: {{reason: ImagePullBackOff, message: {why}}}}}"
        )
        events = [("Failed", "Error: ErrImagePull"), ("BackOff", "Back-off pulling image")]
        return [_pod(name, self.selector(_waiting("ImagePullBackOff")), "Pending", self.state(failing), events)]


class CrashLoop(OfContainer):
    """The container ends soon after its start: CrashLoopBackOff with a last state that says `message`."""

    fault: Literal["crash-loop"]
    message: str = ""
    exit_code: int = Field(default=1, ge=1, le=255)
    restarts: int = Field(default=6, ge=1)
    reason: str = "Error"

    def stages(self, name: str) -> list[dict[str, Any]]:
        """One stage."""
        failing = _crashed(self.reason, self.exit_code, self.restarts, self.message)
        events = [("BackOff", "Back-off restarting failed container")]
        return [_pod(name, self.selector(_waiting("CrashLoopBackOff")), "Running", self.state(failing), events)]


class OutOfMemory(OfContainer):
    """The container needs `needs` memory (a quantity): killed when its limit is lower. Without a limit it lives."""

    fault: Literal["oom"]
    needs: str = Field(pattern=r"^[0-9]+(Ki|Mi|Gi|Ti|k|M|G|T)?$")
    restarts: int = Field(default=4, ge=1)

    def condition(self) -> str:
        """Its limit is below what it needs."""
        digits = self.needs.rstrip("KMGTik")
        least = int(digits) * _UNITS.get(self.needs[len(digits) :], 1)
        return (
            f"{super().condition()} and (.resources.limits.memory != null) and "
            f"(({_BYTES} .resources.limits.memory | bytes) < {least})"
        )

    def stages(self, name: str) -> list[dict[str, Any]]:
        """One stage."""
        failing = _crashed("OOMKilled", 137, self.restarts, "")
        events = [("BackOff", "Back-off restarting failed container")]
        return [_pod(name, self.selector(_waiting("CrashLoopBackOff")), "Running", self.state(failing), events)]


class NotReady(OfContainer):
    """It runs, and its readiness probe fails with `message`."""

    fault: Literal["not-ready"]
    message: str = "HTTP probe failed with statuscode: 503"

    def stages(self, name: str) -> list[dict[str, Any]]:
        """One stage."""
        status = {"key": ".status.phase", "operator": "NotIn", "values": ["Running"]}
        events = [("Unhealthy", f"Readiness probe failed: {self.message}")]
        return [_pod(name, self.selector(status), "Running", self.state(_RUNNING_UNREADY), events)]


class SlowStart(OfContainer):
    """Ready only `seconds` after its start."""

    fault: Literal["slow-start"]
    seconds: float = Field(gt=0, le=120, strict=False)

    def stages(self, name: str) -> list[dict[str, Any]]:
        """It starts, and it is ready; between the two the built-in stages are held off."""
        pending = {"key": ".status.phase", "operator": "NotIn", "values": ["Running", "Succeeded", "Failed"]}
        unready = _rule("[.status.containerStatuses[]?.ready] | all", negate=True)
        running = {"key": ".status.phase", "operator": "In", "values": ["Running"]}
        ready = _pod(f"{name}-up", self.selector(running, unready), "Running", _ALL_READY, [], ready=True)
        ready["spec"]["delay"] = {"durationMilliseconds": int(self.seconds * 1000)}
        return [_pod(name, self.selector(pending), "Running", self.state(_RUNNING_UNREADY), []), ready]


class ReadinessGate(Strict):
    """Pods with the readiness gate `condition` wait for somebody to set it, and nobody does.

    Their containers are ready, the pods are not. Set by hand, the condition makes the pod ready, as a kubelet would.
    """

    fault: Literal["readiness-gate"]
    condition: str

    def stages(self, name: str) -> list[dict[str, Any]]:
        """Waiting, and met."""
        has = _rule(f"[.spec.readinessGates[]?.conditionType] | index({json.dumps(self.condition)}) != null")
        placed = {"key": ".spec.nodeName", "operator": "Exists"}
        pending = {"key": ".status.phase", "operator": "NotIn", "values": ["Running", "Succeeded", "Failed"]}
        gate = f".status.conditions[]? | select(.type == {json.dumps(self.condition)}) | .status"
        unready = '.status.conditions[]? | select(.type == "Ready") | .status'
        wait = f'corresponding condition of pod readiness gate \\"{self.condition}\\" does not exist.'
        first = _pod(
            name, {"matchExpressions": [placed, has, pending]}, "Running", _ALL_READY, [],
            why=("ReadinessGatesNotReady", wait), containers_ready=True,
        )  # fmt: skip
        met = [
            placed, has,
            {"key": gate, "operator": "In", "values": ["True"]},
            {"key": unready, "operator": "NotIn", "values": ["True"]},
        ]  # fmt: skip
        return [first, _pod(f"{name}-met", {"matchExpressions": met}, "Running", _ALL_READY, [], ready=True)]


class VolumeAttach(Strict):
    """The volume of a claim whose name matches `claim` (RE2) cannot be attached: ContainerCreating for ever."""

    fault: Literal["volume-attach"]
    claim: str
    namespace: str | None = None
    message: str = "AttachVolume.Attach failed: rpc error: code = DeadlineExceeded"

    def stages(self, name: str) -> list[dict[str, Any]]:
        """One stage."""
        has = f"[.spec.volumes[]?.persistentVolumeClaim.claimName // empty | select(test({json.dumps(self.claim)}))]"
        rules = [{"key": ".spec.nodeName", "operator": "Exists"}, _rule(f"{has} | length > 0")]
        rules += [_rule(f".metadata.namespace == {json.dumps(self.namespace)}")] if self.namespace else []
        containers = OfContainer(pod="true").state(
            'imageID: ""\nready: false\nstarted: false\nrestartCount: 0\nstate: {waiting: {reason: ContainerCreating}}'
        )
        selector = {"matchExpressions": [*rules, _waiting("ContainerCreating")]}
        return [_pod(name, selector, "Pending", containers, [("FailedAttachVolume", self.message)])]


class NodeDown(Strict):
    """A node with these labels is not ready. It starts when setup sets the label: a plane boots with ready nodes."""

    fault: Literal["node-down"]
    labels: dict[str, str] = Field(min_length=1)
    reason: str = "KubeletNotReady"
    message: str = "container runtime is down"

    def stages(self, name: str) -> list[dict[str, Any]]:
        """One stage; the node lifecycle controller does the rest."""
        up = {"key": '.status.conditions[]? | select(.type == "Ready") | .status', "operator": "In", "values": ["True"]}
        condition = (
            f'conditions:\n- {{type: Ready, status: "False", reason: {self.reason}, '
            f"message: {_text(self.message)}, lastTransitionTime: {{{{ Now | Quote }}}}}}\n"
        )
        steps = [
            {"event": {"type": "Normal", "reason": "NodeNotReady", "message": "Node status is now: NodeNotReady"}},
            {"patch": {"subresource": "status", "root": "status", "template": condition}},
        ]
        return [_stage(name, "Node", {"matchLabels": self.labels, "matchExpressions": [up]}, steps)]


Fault = Annotated[
    ImagePull | CrashLoop | OutOfMemory | NotReady | SlowStart | ReadinessGate | VolumeAttach | NodeDown,
    Field(discriminator="fault"),
]


def stages_of(faults: Iterable[Fault]) -> list[dict[str, Any]]:
    """The Stage documents of all faults, with names that do not collide."""
    return [
        stage for number, fault in enumerate(faults) for stage in fault.stages(f"task-{number}-{fault.fault}")
    ]  # fmt: skip


_ALL_READY = """\
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: {{ .image | Quote }}
  ready: true
  started: true
  restartCount: 0
  state: {running: {startedAt: {{ Now | Quote }}}, waiting: null}
{{ end }}"""
_RUNNING_UNREADY = (
    "imageID: {{ .image | Quote }}\nready: false\nstarted: true\nrestartCount: 0\n"
    "state: {running: {startedAt: {{ Now | Quote }}}}"
)


def _crashed(reason: str, code: int, restarts: int, message: str) -> str:
    said = f", message: {_text(message)}" if message else ""
    return (
        f"imageID: {{{{ .image | Quote }}}}\nready: false\nstarted: false\nrestartCount: {restarts}\n"
        'state: {waiting: {reason: CrashLoopBackOff, message: {{ printf "back-off 2m40s restarting failed '
        'container=%s" .name | Quote }}}}\n'
        f"lastState: {{terminated: {{reason: {reason}, exitCode: {code}{said}, startedAt: {{{{ Now | Quote }}}}, "
        "finishedAt: {{ Now | Quote }}}}"
    )


def _text(text: str) -> str:
    """`text` in a template of YAML. JSON strings are YAML; braces would be the template's."""
    return json.dumps(text).replace("{{", '{{ "{{" }}')


def _rule(condition: str, *, negate: bool = False) -> dict[str, Any]:
    """A jq condition as kwok's selector reads it: by the values that a query yields."""
    return {
        "key": f'if ({condition}) then "yes" else "no" end',
        "operator": "In",
        "values": ["no" if negate else "yes"],
    }


def _waiting(reason: str) -> dict[str, Any]:
    """Not played yet."""
    return {"key": ".status.containerStatuses[]?.state.waiting.reason", "operator": "NotIn", "values": [reason]}


def _pod(
    name: str,
    selector: dict[str, Any],
    phase: str,
    containers: str,
    events: Iterable[tuple[str, str]],
    *,
    ready: bool = False,
    why: tuple[str, str] = ("ContainersNotReady", ""),
    containers_ready: bool = False,
) -> dict[str, Any]:
    both = {"Ready": ready, "ContainersReady": ready or containers_ready}
    lines = ["phase: " + phase, "startTime: {{ or .status.startTime Now | Quote }}", "conditions:"]
    lines.append('- {type: Initialized, status: "True", lastTransitionTime: {{ Now | Quote }}}')
    for kind, good in both.items():
        reason = (
            "reason: null, message: null" if good else f"reason: {why[0]}" + (f', message: "{why[1]}"' * bool(why[1]))
        )
        lines.append(f'- {{type: {kind}, status: "{good}", {reason}, lastTransitionTime: {{{{ Now | Quote }}}}}}')
    address = "{{ with NodeIPsWith .spec.nodeName }}\nhostIP: {{ index . 0 | Quote }}\n{{ end }}"
    if phase == "Running":
        address += (
            "\n{{ if not .status.podIP }}\n"
            '{{ with PodIPsWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) '
            '( or .metadata.name "" ) ( or .metadata.namespace "" ) }}\npodIP: {{ index . 0 | Quote }}\npodIPs:\n'
            "{{ range . }}\n- ip: {{ . | Quote }}\n{{ end }}\n{{ end }}\n{{ end }}"
        )
    template = "\n".join([*lines, address, containers]) + "\n"
    steps: list[dict[str, Any]] = [
        {"event": {"type": "Warning", "reason": reason, "message": text}} for reason, text in events
    ]
    steps.append({"patch": {"subresource": "status", "root": "status", "template": template}})
    return _stage(name, "Pod", selector, steps)


def _stage(name: str, kind: str, selector: dict[str, Any], steps: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {"resourceRef": {"apiGroup": "v1", "kind": kind}, "selector": selector, "steps": steps},
    }
