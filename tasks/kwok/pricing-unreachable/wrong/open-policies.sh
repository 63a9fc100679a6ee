#!/usr/bin/env bash
# Take the policies for the cause: delete what denies.
# breaks: endpoints, target-port, policies-closed
set -euo pipefail
kubectl -n shop delete networkpolicy default-deny pricing-ingress
