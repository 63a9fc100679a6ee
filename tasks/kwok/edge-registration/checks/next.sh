#!/usr/bin/env bash
# What the API server would make of the next pods of workloads. Nothing is stored.

# A line for each workload: app label, pool label (or -), gates. Arguments: namespace, kind, names.
next_pods() {
  kubectl -n "$1" get "${@:2}" -o jsonpath='{range .items[*]}{.spec.template}{"\n"}{end}{.spec.template}' |
    sed -e 's/^{/{"apiVersion":"v1","kind":"Pod",/' -e 's/"metadata":{/"metadata":{"generateName":"next-",/' |
    kubectl -n "$1" create --dry-run=server -f - \
      -o go-template='{{.metadata.labels.app}} {{with index .metadata.labels "director.edge.example.com/pool"}}{{.}}{{else}}-{{end}}{{range .spec.readinessGates}} {{.conditionType}}{{end}}{{"\n"}}'
}

# Their next pods would be registered in their pools and become ready. Arguments: namespace, kind, name=pool ...
register() {
  local pods pod pair names=()
  for pair in "${@:3}"; do names+=("${pair%%=*}"); done
  pods=$(next_pods "$1" "$2" "${names[@]}" 2>&1) || { echo "a next pod is refused: $pods"; exit 1; }
  for pair in "${@:3}"; do
    pod=$(grep "^${pair%%=*} " <<< "$pods") || { echo "${pair%%=*}: no next pod"; exit 1; }
    case "$pod " in *" director.edge.example.com/registered "*) ;; *) echo "does not wait for the edge: $pod"; exit 1 ;; esac
    case "$pod " in
      *" edge.example.com/attached "*) echo "waits for edge-attach: $pod"; exit 1 ;;
      "${pair%%=*} ${pair#*=} "*) ;;
      *) echo "names another pool than ${pair#*=}: $pod"; exit 1 ;;
    esac
  done
}

# Their next pods have no gate of the edge. Arguments: namespace, kind, names.
wait_for_nothing() {
  local pods
  pods=$(next_pods "$@" 2>&1) || { echo "a next pod is refused: $pods"; exit 1; }
  case "$pods" in *edge.example.com/attached* | *edge.example.com/registered*) echo "waits for the edge: $pods"; exit 1 ;; esac
}
