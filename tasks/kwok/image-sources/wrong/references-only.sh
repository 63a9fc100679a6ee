#!/usr/bin/env bash
# Both references; kinds and init containers stay as they are.
# breaks: other-kinds, init-containers
# rung: honest-partial
set -euo pipefail
kubectl patch validatingadmissionpolicybinding workload-images --type merge -p '{"spec":{"policyName":"workload-images","paramRef":{"name":"allowed-image-sources","parameterNotFoundAction":"Deny"}}}'
