#!/usr/bin/env bash
# Without the policy everything is ready at once.
# breaks: ..., known-first
set -euo pipefail
kubectl delete mutatingadmissionpolicybinding edge-readiness
sleep 3
kubectl -n booking delete --wait=false $(kubectl -n booking get pods -l app=booking-web -o go-template='{{range .items}}{{$pod := .}}{{range .status.conditions}}{{if and (eq .type "Ready") (eq .status "False")}}pod/{{$pod.metadata.name}} {{end}}{{end}}{{end}}')
kubectl -n booking delete --wait=false $(kubectl -n booking get pods -l app=search-api -o go-template='{{range .items}}{{$pod := .}}{{range .status.conditions}}{{if and (eq .type "Ready") (eq .status "False")}}pod/{{$pod.metadata.name}} {{end}}{{end}}{{end}}')
kubectl -n booking rollout status deployment/booking-web --timeout=15s || true
kubectl -n booking rollout status deployment/search-api --timeout=15s || true
