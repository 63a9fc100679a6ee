#!/usr/bin/env bash
# The label by fields in a layer below, the exception above it.
set -euo pipefail
cd storefront-deploy
# fix: both overlays
for pair in prod-eu=cc-4711 prod-us=cc-4712; do
  overlay=${pair%%=*} value=${pair#*=}
  mkdir "overlays/$overlay/billed"
  git mv $(git ls-files "overlays/$overlay") "overlays/$overlay/billed/"
  sed -i 's#- ../live#- ../../live#' "overlays/$overlay/billed/kustomization.yaml"
  python3 - "overlays/$overlay/billed/kustomization.yaml" "$value" <<'PY'
import pathlib, sys
path, value = pathlib.Path(sys.argv[1]), sys.argv[2]
text = path.read_text()
mine = """\
  - pairs:
      cost-center: VALUE
    fields:
      - {path: spec/template/metadata/labels, kind: Deployment, create: true}
      - {path: spec/template/metadata/labels, kind: StatefulSet, create: true}
      - {path: spec/template/metadata/labels, kind: DaemonSet, create: true}
      - {path: spec/jobTemplate/spec/template/metadata/labels, kind: CronJob, create: true}
      - {path: spec/template/metadata/labels, kind: Rollout, create: true}
      - {path: spec/workflowSpec/podMetadata/labels, kind: CronWorkflow, create: true}
""".replace("VALUE", value)
text = text.replace("labels:\n  - pairs", "labels:\n" + mine + "  - pairs") if "\nlabels:" in text else text + "labels:\n" + mine
path.write_text(text)
PY
  cat > "overlays/$overlay/kustomization.yaml" <<'YAML'
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - billed
patches:
  - target: {kind: Deployment, name: recommend}
    patch: |-
      - {op: replace, path: /metadata/labels/cost-center, value: cc-2201}
      - {op: replace, path: /spec/template/metadata/labels/cost-center, value: cc-2201}
  - target: {kind: Service, name: recommend}
    patch: |-
      - {op: replace, path: /metadata/labels/cost-center, value: cc-2201}
YAML
done
git add -A
git commit -qm "FIN-882 cost centers of production"
# end
