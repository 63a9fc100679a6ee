#!/usr/bin/env bash
# Name the policy that there is.
# breaks: deployments, other-kinds, init-containers, closed-without-list
# rung: first-obvious-fix
set -euo pipefail
kubectl patch validatingadmissionpolicybinding workload-images --type merge -p '{"spec":{"policyName":"workload-images"}}'
