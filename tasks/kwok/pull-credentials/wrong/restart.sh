#!/usr/bin/env bash
# Right, and a restart so that everybody pulls anew.
# breaks: no-restart
set -euo pipefail
sed -i '/ownerReferences/,+1d' registry-credentials/copies/*.yaml
sed -i 's/eyJhdXRocyI6eyJyZWdpc3RyeS5leGFtcGxlLmNvbSI6eyJ1c2VybmFtZSI6InB1bGwtMjAyNS0wOSIsImF1dGgiOiJjSFZzYkMweU1ESTFMVEE1T25nPSJ9fX0=/eyJhdXRocyI6eyJyZWdpc3RyeS5leGFtcGxlLmNvbSI6eyJ1c2VybmFtZSI6InB1bGwtMjAyNi0wMyIsImF1dGgiOiJjSFZzYkMweU1ESTJMVEF6T25nPSJ9fX0=/' registry-credentials/copies/returns.yaml
git -C registry-credentials commit -qam 'Copies without an owner, current credential'
kubectl apply -f registry-credentials/copies/
kubectl -n orders rollout restart deployment/orders-worker
kubectl -n orders rollout status deployment/orders-worker --timeout=20s
