"""The life of a real control plane: boot, lease, hand over, end, and what is left afterwards."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from devops_bench.clusters import kwok, leases
from devops_bench.clusters.needs import absolute
from devops_bench.clusters.plane import Plane, adopt, start
from devops_bench.clusters.sockets import tcp_listeners
from devops_bench.clusters.sweep import processes_of, sweep
from devops_bench.errors import RefusedError, TransientError
from devops_bench.kube import Deadline, KubeClient
from devops_bench.process import identity, wait_ended
from devops_bench.tasks.spec import ClusterNeeds, NodeGroup

pytestmark = pytest.mark.kwok
PATIENCE = 60.0


def answers(plane_or_file: Plane | Path, path: str = "/readyz", user: str = "admin") -> bytes:
    """GET `path` with the client certificate of a kubeconfig."""
    if isinstance(plane_or_file, Plane):
        assert plane_or_file.ready
        plane_or_file = getattr(plane_or_file.ready, user)
    data = YAML(typ="safe").load(plane_or_file.read_text())
    cluster, person = data["clusters"][0]["cluster"], data["users"][0]["user"]
    context = ssl.create_default_context(cadata=b64decode(cluster["certificate-authority-data"]).decode())
    pem = plane_or_file.with_name(f"{plane_or_file.name}.pem")
    pem.write_bytes(b64decode(person["client-certificate-data"]) + b64decode(person["client-key-data"]))
    context.load_cert_chain(pem)
    with urllib.request.urlopen(cluster["server"] + path, context=context, timeout=PATIENCE) as reply:
        return reply.read()


def nothing_left(folder: Path) -> bool:
    return not folder.exists() and not list(processes_of(folder))


def test_a_started_plane_is_not_awaited_and_serves_once_it_says_so(kube: Path, root: Path) -> None:
    plane = start(kube, root, ClusterNeeds())
    try:
        assert plane.ready is None and plane.on_readable() is None
        assert plane.wait_ready().server.startswith("https://127.0.0.1:")
        assert plane.stdout_fd is None
        assert answers(plane) == b"ok"
        lease = leases.read(plane.folder)
        assert lease == plane.lease
        assert lease.plane == identity(plane.pid)
        assert lease.owner == identity()
        assert lease.state is leases.PlaneState.READY
        assert leases.log_is_held(plane.folder)
        assert not os.get_inheritable(plane.write_fd)
        # The API server listens and nothing else: etcd is a socket in a directory that is ours alone.
        assert tcp_listeners(plane.pid) == [int(plane.ready.server.rsplit(":", 1)[1])]
        assert plane.directory.stat().st_mode & 0o777 == 0o700
    finally:
        plane.end()
    assert nothing_left(plane.folder)


STAGE = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: image-not-found}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
      - {key: '.spec.containers[].image', operator: In, values: [registry.example/shop:missing]}
  next:
    statusTemplate: |
      phase: Pending
      message: no such image
"""


def test_nodes_and_faults_of_the_task_are_there_and_a_fault_ends_when_the_spec_is_fixed(
    kube: Path, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "task/stages").mkdir(parents=True)
    (tmp_path / "task/stages/fault.yaml").write_text(STAGE)
    groups = [NodeGroup(name="gpu", labels={"pool": "gpu"}, capacity={"cpu": "4"}), NodeGroup(name="std", count=2)]
    plane = kwok.boot(kube, root, absolute(ClusterNeeds(nodes=groups), tmp_path / "task"))
    try:
        assert plane.ready
        nodes = {node["metadata"]["name"]: node for node in json.loads(answers(plane, "/api/v1/nodes"))["items"]}
        assert set(nodes) == {"gpu", "std-0", "std-1"}
        assert nodes["gpu"]["metadata"]["labels"]["pool"] == "gpu"
        assert nodes["gpu"]["status"]["capacity"]["cpu"] == "4"
        with KubeClient.from_kubeconfig(plane.ready.admin) as admin:
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shop"}}
            container = {"name": "shop", "image": "registry.example/shop:missing"}
            admin.create(pod | {"spec": {"containers": [container]}})
            until_status(admin, lambda status: status.get("message") == "no such image")
            fix = {"op": "replace", "path": "/spec/containers/0/image", "value": "registry.example/shop:1"}
            admin.patch("Pod", "shop", [fix], "default")
            until_status(admin, lambda status: status.get("phase") == "Running")
    finally:
        plane.end()


def until_status(admin: KubeClient, wanted: Callable[[dict[str, Any]], bool]) -> None:
    for kind, item in admin.watch("Pod", "default", deadline=Deadline.after(PATIENCE)):
        if kind != "BOOKMARK" and wanted(item.get("status", {})):
            return
    pytest.fail("the pod never got there")


def test_a_plane_that_cannot_start_says_why_and_leaves_nothing(kube: Path, root: Path) -> None:
    needs = ClusterNeeds(nodes=[NodeGroup(name="Not A Name")])
    with pytest.raises(TransientError, match="Not A Name"):
        kwok.boot(kube, root, needs)
    assert list(leases.folders(root)) == []


def test_a_stopped_plane_is_destroyed(kube: Path, root: Path) -> None:
    plane = kwok.boot(kube, root, ClusterNeeds())
    who = plane.process
    os.kill(plane.pid, signal.SIGSTOP)
    while who.state() != "T":
        os.sched_yield()
    plane.end()
    assert not who.alive()
    assert nothing_left(plane.folder)


def test_a_plane_dies_with_its_owner_and_a_sweep_removes_the_rest(kube: Path, root: Path) -> None:
    child = owner_process(kube, root)
    plane_pidfd, folder = child.wait_for_plane()
    child.kill()
    assert wait_ended(plane_pidfd, PATIENCE)
    os.close(plane_pidfd)
    assert [swept.folder for swept in sweep(root)] == [folder]
    assert nothing_left(folder)


def test_a_stopped_plane_of_a_dead_owner_is_swept(kube: Path, root: Path) -> None:
    child = owner_process(kube, root)
    plane_pidfd, folder = child.wait_for_plane()
    signal.pidfd_send_signal(plane_pidfd, signal.SIGSTOP)
    child.kill()
    assert not wait_ended(plane_pidfd, 0)
    [swept] = sweep(root)
    assert swept.ended
    assert wait_ended(plane_pidfd, PATIENCE)
    os.close(plane_pidfd)
    assert nothing_left(folder)


def test_a_sweep_leaves_planes_of_living_owners_alone(kube: Path, root: Path) -> None:
    plane = kwok.boot(kube, root, ClusterNeeds())
    try:
        assert sweep(root) == []
        assert answers(plane) == b"ok"
        assert [swept.folder for swept in sweep(root, alive_owner=lambda owner: False, dry=True)] == [plane.folder]
        assert answers(plane) == b"ok"
    finally:
        plane.end()


def test_a_handed_over_plane_survives_the_first_owner_and_dies_with_the_second(kube: Path, root: Path) -> None:
    first_end, second_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with first_end, second_end:
        booter = owner_process(kube, root, first_end)
        user = subprocess.Popen(
            [sys.executable, "-c", RECEIVER, str(second_end.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[second_end.fileno()],
        )
    pidfd, folder = booter.wait_for_plane()
    assert user.stdout and user.stdout.readline() == b"leased\n"
    booter.kill()
    lease = leases.read(folder)
    assert lease and lease.ready and lease.owner.pid == user.pid
    assert answers(lease.ready.admin) == b"ok"
    assert sweep(root) == []
    user.kill()
    user.communicate()
    assert wait_ended(pidfd, PATIENCE)
    os.close(pidfd)
    assert [swept.name for swept in sweep(root)] == ["c0000001-eval"]
    assert nothing_left(folder)


RECEIVER = """
import socket, sys
from pathlib import Path
from devops_bench.clusters import leases
from devops_bench.clusters.plane import adopt
channel = socket.socket(fileno=int(sys.argv[1]))
message, fds, _flags, _address = socket.recv_fds(channel, 4096, 1)
plane = adopt(Path(message.decode()), fds[0])
plane.lease_to(leases.myself(), "c0000001-eval")
print("leased", flush=True)
sys.stdin.read()
"""


def test_adopting_a_plane_that_has_ended_is_transient(kube: Path, root: Path) -> None:
    plane = kwok.boot(kube, root, ClusterNeeds())
    spare = os.dup(plane.write_fd)
    os.kill(plane.pid, signal.SIGKILL)
    assert wait_ended(plane.pidfd, PATIENCE)
    with pytest.raises(TransientError, match="ended before it was used"):
        adopt(plane.folder, spare)
    plane.end()


def test_create_and_destroy_leave_no_residue(kube: Path, root: Path) -> None:
    provider = kwok.Kwok(kube, {**os.environ, "BENCH_RUN_STATE_ROOT": str(root)})
    state_dir = root / "rid"
    cluster = provider.create("c0000002-eval", ClusterNeeds(), state_dir)
    try:
        assert cluster.admin_kubeconfig and answers(cluster.admin_kubeconfig) == b"ok"
        assert cluster.agent_kubeconfig and os.listdir(cluster.agent_kubeconfig.parent) == ["config"]
        for path in (cluster.admin_kubeconfig, cluster.agent_kubeconfig, cluster.mcp_kubeconfig):
            assert path and path.stat().st_mode & 0o777 == 0o600
        left = provider.residue(cluster.name, state_dir)
        assert any("process" in line and "port" in line for line in left)
        assert any("socket" in line for line in left)
        assert any("lease" in line for line in left)
        with pytest.raises(RefusedError, match="already exists"):
            provider.create("c0000002-eval", ClusterNeeds(), state_dir)
    finally:
        provider.destroy(cluster)
    assert provider.residue(cluster.name, state_dir) == []
    provider.destroy(cluster)


def test_destroy_works_from_a_process_that_never_held_the_plane(kube: Path, root: Path) -> None:
    env = {**os.environ, "BENCH_RUN_STATE_ROOT": str(root)}
    holder = kwok.Kwok(kube, env)
    cluster = holder.create("c0000003-eval", ClusterNeeds(), root / "rid")
    plane = holder.planes["c0000003-eval"]
    other = kwok.Kwok(kube, env)
    other.destroy(cluster)
    assert other.residue(cluster.name, root / "rid") == []
    assert plane.reap()
    plane.end()


class owner_process:
    """Another process that boots a plane and holds it, or sends it over `channel` and lives on."""

    SCRIPT = """
import os, socket, sys
from pathlib import Path
from devops_bench.clusters import kwok
from devops_bench.tasks.spec import ClusterNeeds
plane = kwok.boot(Path(sys.argv[1]), Path(sys.argv[2]), ClusterNeeds())
if len(sys.argv) > 3:
    channel = socket.socket(fileno=int(sys.argv[3]))
    socket.send_fds(channel, [str(plane.folder).encode()], [plane.write_fd])
    plane.give_away()
print(plane.folder, plane.pid, flush=True)
sys.stdin.read()
"""

    def __init__(self, kube: Path, root: Path, channel: socket.socket | None = None) -> None:
        extra = [str(channel.fileno())] if channel else []
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.SCRIPT, kube, root, *extra],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[channel.fileno()] if channel else [],
        )

    def wait_for_plane(self) -> tuple[int, Path]:
        assert self.process.stdout
        folder, pid = self.process.stdout.readline().decode().split()
        return os.pidfd_open(int(pid)), Path(folder)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()
