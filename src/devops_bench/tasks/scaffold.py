"""`tasks new`: the files of a task that proves itself, to be turned into a real one.

The kwok scaffold is a small whole task (a Service whose selector fits no pod) rather than empty files: whoever replaces
its parts one by one can run `tasks validate` after each of them.
"""

from __future__ import annotations

from pathlib import Path

from devops_bench.errors import ConfigError


def scaffold(folder: Path, provider: str) -> list[Path]:
    """Write the files into `folder`, which must not exist, and return their paths. Raises ConfigError."""
    if folder.exists():
        raise ConfigError("exists already", where=folder, fix="choose another name")
    texts = {**_COMMON, **(_KWOK if provider == "kwok" else _WORKSPACE)}
    written = []
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("TASK-ID", folder.name).replace("PROVIDER", provider), encoding="utf-8")
        written.append(path)
    return written


_COMMON = {
    "README.md": """\
# TASK-ID

**Realistic because** TODO: where and how often this happens.

**A good engineer** TODO: what they look at, in which order, and what they leave alone.

**What makes it hard**: TODO: the second fault, the closed short cut, the neighbour that must not be harmed.
"""
}
_HEAD = """\
task_id: TASK-ID
name: TODO a short name
title: TODO what is to be achieved
summary: >-
  TODO one or two sentences for people who choose tasks.
category: incident
difficulty: medium
tags: []
validated: false
infrastructure:
  deployer: noop
  provider: PROVIDER
"""
_KWOK = {
    "task.yaml": _HEAD
    + """\
prompt: |
  TODO a ticket, a page or a chat, as people write it: a symptom and a goal. Everything that is checked is said here or
  can be found out in the cluster.

  Since this morning's release nobody gets an answer from web in namespace shop. Please bring it back. The pods are
  fine, leave them as they are.
expected_output: |
  - web has endpoints again
  - The pods were not touched
verification_spec:
  - name: endpoints
    title: The Service reaches its pods
    description: Another pod of the namespace gets through to the Service's port.
    check:
      type: reachable
      source: {namespace: shop, labels: {app: any}}
      target: {namespace: shop, service: web}
      port: 80
  - name: pods-untouched
    role: safeguard
    title: The pods were left alone
    description: The Deployment is the same object and has had no rollout.
    check:
      type: all
      checks:
        - {type: identity_preserved, kind: Deployment, resource_name: web, namespace: shop}
        - type: resource_property
          kind: Deployment
          resource_name: web
          namespace: shop
          path: $.metadata.generation
          op: eq
          value: 1
""",
    "cluster.yaml": "nodes:\n  - {name: worker, count: 3}\n",
    "setup/10-before.yaml": """\
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - {name: web, image: "registry.example.com/shop/web:1.4.2", ports: [{name: http, containerPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}]
""",
    "setup/20-wait.yaml": "- {type: scaling_complete, namespace: shop, deployment: web, min_replicas: 2}\n",
    "setup/30-change.yaml": """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  selector: {app: web-frontend}
  ports: [{name: http, port: 80, targetPort: http}]
""",
    "setup/40-wait.yaml": (
        "- {type: resource_property, kind: EndpointSlice, namespace: shop, "
        'selector: kubernetes.io/service-name=web, path: "$.endpoints[0]", op: absent}\n'
    ),
    "solution/patch.sh": """\
#!/usr/bin/env bash
# Point the Service at the pods' label.
set -euo pipefail
# fix: the selector
kubectl -n shop patch service web --type merge -p '{"spec":{"selector":{"app":"web"}}}'
# end
""",
    "wrong/restart.sh": """\
#!/usr/bin/env bash
# Restart what does not answer.
# breaks: endpoints, pods-untouched
# rung: first-obvious-fix
set -euo pipefail
kubectl -n shop rollout restart deployment/web
""",
    "wrong/redeploy.sh": """\
#!/usr/bin/env bash
# Right, and a restart to be sure.
# breaks: pods-untouched
set -euo pipefail
kubectl -n shop patch service web --type merge -p '{"spec":{"selector":{"app":"web"}}}'
kubectl -n shop rollout restart deployment/web
kubectl -n shop rollout status deployment/web --timeout=30s
""",
}
_WORKSPACE = {
    "task.yaml": _HEAD
    + """\
prompt: |
  TODO a ticket, a page or a chat, as people write it.

  The load balancer in conf/web.ini still drains for 300 seconds although we agreed on 30. Please set it, and leave the
  other settings alone.
expected_output: |
  - drain_seconds is 30, the rest is as it was
verification_spec:
  - name: drain
    title: Draining takes 30 seconds
    description: The setting has the agreed value.
    check: {type: file, file: conf/web.ini, op: matches, value: "(?m)^drain_seconds = 30$"}
  - name: others-kept
    role: safeguard
    title: The other settings are as they were
    description: The time-out is still a minute.
    check: {type: file, file: conf/web.ini, op: matches, value: "(?m)^timeout_seconds = 60$"}
""",
    "workspace/conf/web.ini": "[web]\ntimeout_seconds = 60\ndrain_seconds = 300\n",
    "solution/sed.sh": """\
#!/usr/bin/env bash
# Change one line.
set -euo pipefail
# fix: the setting
sed -i 's/^drain_seconds = .*/drain_seconds = 30/' conf/web.ini
# end
""",
    "wrong/rewrite.sh": """\
#!/usr/bin/env bash
# Write the file anew.
# breaks: others-kept
set -euo pipefail
printf '[web]\\ndrain_seconds = 30\\n' > conf/web.ini
""",
    "wrong/append.sh": """\
#!/usr/bin/env bash
# Put it into another file.
# breaks: drain
# rung: first-obvious-fix
set -euo pipefail
echo 'drain_seconds = 30' >> conf/override.ini
""",
}
