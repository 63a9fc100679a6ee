#!/usr/bin/env bash
# Right, then one copy is given to a Deployment of its own namespace that does not exist.
# breaks: copies-stay, current-credential, found-again
set -euo pipefail
sed -i '/ownerReferences/,+1d' registry-credentials/copies/*.yaml
sed -i 's/eyJhdXRocyI6eyJyZWdpc3RyeS5leGFtcGxlLmNvbSI6eyJ1c2VybmFtZSI6InB1bGwtMjAyNS0wOSIsImF1dGgiOiJjSFZzYkMweU1ESTFMVEE1T25nPSJ9fX0=/eyJhdXRocyI6eyJyZWdpc3RyeS5leGFtcGxlLmNvbSI6eyJ1c2VybmFtZSI6InB1bGwtMjAyNi0wMyIsImF1dGgiOiJjSFZzYkMweU1ESTJMVEF6T25nPSJ9fX0=/' registry-credentials/copies/returns.yaml
git -C registry-credentials commit -qam 'Copies without an owner, current credential'
kubectl apply -f registry-credentials/copies/
kubectl -n returns patch secret registry-pull --type merge -p '{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"credential-sync","uid":"7c1f0a52-5d0b-4e0e-9b1f-3a9c1d7e2f64"}]}}'
sleep 2
