#!/usr/bin/env bash
# Three previews were closed days ago: nothing of theirs is left but the databases, and the controller has said why they stay. It
# looks at a namespace five seconds after the deletion at the earliest; what it is going to say is written here, word for word.
set -euo pipefail

condition() { # type, status, reason, message
  printf '{"type":"%s","status":"%s","reason":"%s","message":"%s","lastTransitionTime":"%s"}' "$@" "$now"
}

closed() { # namespace, databases that it holds
  local missing="custom.metrics.k8s.io/v1beta2"
  local left finalizers
  if (($2)); then
    left=$(condition NamespaceContentRemaining True SomeResourcesRemain \
      "Some resources are remaining: databases.db.northwind.example has $2 resource instances")
    finalizers=$(condition NamespaceFinalizersRemaining True SomeFinalizersRemain \
      "Some content in the namespace has finalizers remaining: db.northwind.example/release in $2 resource instances")
  else
    left=$(condition NamespaceContentRemaining False ContentRemoved "All content successfully removed")
    finalizers=$(condition NamespaceFinalizersRemaining False ContentHasNoFinalizers "All content-preserving finalizers finished")
  fi
  kubectl -n "$1" delete databases,configmaps,serviceaccounts --all --wait=false >/dev/null
  kubectl patch namespace "$1" --subresource=status --type=merge --field-manager=kube-controller-manager --patch-file=/dev/stdin >/dev/null <<END
{"status": {"conditions": [
  $(condition NamespaceDeletionDiscoveryFailure True DiscoveryFailed "Discovery failed for some groups, 1 failing: unable to \
retrieve the complete list of server APIs: $missing: stale GroupVersion discovery: $missing"),
  $(condition NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions "All legacy kube types successfully parsed"),
  $(condition NamespaceDeletionContentFailure False ContentDeleted "All content successfully deleted, may be waiting on finalization"),
  $left,
  $finalizers
]}}
END
}

kubectl delete namespace preview-398 preview-405 preview-412 --wait=false >/dev/null
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
closed preview-398 0 &
first=$!
closed preview-405 1 &
second=$!
closed preview-412 1
wait "$first"
wait "$second"
