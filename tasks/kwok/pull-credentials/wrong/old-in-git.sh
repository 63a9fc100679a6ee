#!/usr/bin/env bash
# The current credential in the cluster only.
# breaks: repository-credential
set -euo pipefail
sed -i '/ownerReferences/,+1d' registry-credentials/copies/*.yaml
git -C registry-credentials commit -qam 'Copies without an owner, current credential'
sed -i 's/eyJhdXRocyI6eyJyZWdpc3RyeS5leGFtcGxlLmNvbSI6eyJ1c2VybmFtZSI6InB1bGwtMjAyNS0wOSIsImF1dGgiOiJjSFZzYkMweU1ESTFMVEE1T25nPSJ9fX0=/eyJhdXRocyI6eyJyZWdpc3RyeS5leGFtcGxlLmNvbSI6eyJ1c2VybmFtZSI6InB1bGwtMjAyNi0wMyIsImF1dGgiOiJjSFZzYkMweU1ESTJMVEF6T25nPSJ9fX0=/' registry-credentials/copies/returns.yaml
kubectl apply -f registry-credentials/copies/
