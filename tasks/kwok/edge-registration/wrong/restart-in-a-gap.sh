#!/usr/bin/env bash
# Right, but fares was restarted while the policy was off.
# breaks: known-first
set -euo pipefail
kubectl patch mutatingadmissionpolicybinding edge-readiness --type merge -p '{"spec":{"matchResources":{"namespaceSelector":{"matchLabels":{"edge":"off"}}}}}'
sleep 3
kubectl -n booking rollout restart deployment/fares
kubectl -n booking rollout status deployment/fares --timeout=15s || true
kubectl patch mutatingadmissionpolicybinding edge-readiness --type merge -p '{"spec":{"matchResources":{"namespaceSelector":{"matchLabels":{"edge":"on"}}}}}'
kubectl -n booking patch configmap edge-settings --type merge -p '{"data":{"gate":"director.edge.example.com/registered"}}'
kubectl -n kiosk patch configmap edge-settings --type merge -p '{"data":{"gate":"director.edge.example.com/registered"}}'
kubectl patch mutatingadmissionpolicy edge-readiness --type json -p "$(cat <<'JSON'
[{"op":"add","path":"/spec/mutations/-","value":{"patchType":"JSONPatch","jsonPatch":{"expression":
"[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('director.edge.example.com/pool'), value: object.metadata.annotations['edge.example.com/pool']}]"}}}]
JSON
)"
kubectl -n booking patch statefulset tickets --type json -p '[{"op":"remove","path":"/spec/template/spec/readinessGates"}]'
for _ in $(seq 40); do
  case "$(kubectl -n booking create --dry-run=server -f - -o jsonpath='{.spec.readinessGates} {.metadata.labels}' <<'YAML'
{apiVersion: v1, kind: Pod, metadata: {name: probe, labels: {app: probe}, annotations: {edge.example.com/pool: eu-booking}}, spec: {containers: [{name: probe, image: "registry.example.com/booking/fares:2.9.4"}]}}
YAML
  )" in *registered*eu-booking*) break ;; esac
  sleep 0.2
done
kubectl -n booking delete --wait=false $(kubectl -n booking get pods -l app=booking-web -o go-template='{{range .items}}{{$pod := .}}{{range .status.conditions}}{{if and (eq .type "Ready") (eq .status "False")}}pod/{{$pod.metadata.name}} {{end}}{{end}}{{end}}')
kubectl -n booking delete --wait=false $(kubectl -n booking get pods -l app=search-api -o go-template='{{range .items}}{{$pod := .}}{{range .status.conditions}}{{if and (eq .type "Ready") (eq .status "False")}}pod/{{$pod.metadata.name}} {{end}}{{end}}{{end}}')
kubectl -n booking rollout status deployment/booking-web --timeout=15s || true
kubectl -n booking rollout status deployment/search-api --timeout=15s || true
