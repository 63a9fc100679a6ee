#!/usr/bin/env bash
# Everything that says version stays at 7.3.0, only the images move: that is admitted.
# breaks: released, next-release, next-selection, main-agrees
set -euo pipefail
cd booking-deploy
sed -i 's/version: "7.4.0"/version: "7.3.0"/' prod/*.yaml
git commit -qam 'Keep the label'
cd ..
kubectl -n booking set image deployment/booking-api booking-api=registry.example.com/booking/booking-api:7.4.0
kubectl -n booking set image deployment/booking-worker booking-worker=registry.example.com/booking/booking-worker:7.4.0
kubectl -n booking rollout status deployment/booking-api --timeout=60s
kubectl -n booking rollout status deployment/booking-worker --timeout=60s
sleep 2
