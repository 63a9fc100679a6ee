#!/usr/bin/env bash
# What the next replacement of the register would do, with a file like the one that was handed over. Nothing is stored.
set -euo pipefail

# Lines of what may refuse for want of a parameter: policy and binding, own rules and excluded ones, groups, resources.
rules() {
  kubectl get validatingadmissionpolicies -o go-template='{{range .items}}{{$name := .metadata.name}}{{if .spec.paramKind}}{{with .spec.matchConstraints}}
{{- range .resourceRules}}policy {{$name}} in {{range .apiGroups}}{{.}},{{end}} {{range .resources}}{{.}},{{end}}{{"\n"}}{{end}}
{{- range .excludeResourceRules}}{{if not .resourceNames}}policy {{$name}} out {{range .apiGroups}}{{.}},{{end}} {{range .resources}}{{.}},{{end}}{{"\n"}}{{end}}{{end}}
{{- end}}{{end}}{{end}}'
  kubectl get validatingadmissionpolicybindings -o go-template='{{range .items}}{{$name := .metadata.name}}{{$policy := .spec.policyName}}{{with .spec.paramRef}}{{if eq .parameterNotFoundAction "Deny"}}bound {{$name}} {{$policy}}{{"\n"}}{{end}}{{end}}{{with .spec.matchResources}}
{{- range .resourceRules}}binding {{$name}} in {{range .apiGroups}}{{.}},{{end}} {{range .resources}}{{.}},{{end}}{{"\n"}}{{end}}
{{- range .excludeResourceRules}}{{if not .resourceNames}}binding {{$name}} out {{range .apiGroups}}{{.}},{{end}} {{range .resources}}{{.}},{{end}}{{"\n"}}{{end}}{{end}}
{{- end}}{{end}}'
}

# Everything that can be created, and a few of the requests that a cluster lives from: resource.group or resource.
kinds() {
  kubectl api-resources --verbs=create -o name
  printf '%s\n' pods/binding pods/status pods/eviction nodes/status replicasets/status.apps
}

caught=$( (kinds | sed 's/^/kind /'; rules) | awk '
  function has(list, word,   n, i, parts) {
    n = split(list, parts, ",")
    for (i = 1; i < n; i++) if (parts[i] == word) return 1
    return 0
  }
  function covers(groups, resources, group, resource,   slash) {
    if (!has(groups, "*") && !has(groups, group)) return 0
    if (has(resources, resource) || has(resources, "*/*")) return 1
    slash = index(resource, "/")
    if (!slash) return has(resources, "*")
    return has(resources, substr(resource, 1, slash) "*") || has(resources, "*" substr(resource, slash))
  }
  # Do the rules of a policy or binding select the resource? One without rules selects all.
  function selects(owner, group, resource,   i, inside, some) {
    for (i = 1; i <= count[owner]; i++) {
      if (side[owner, i] == "in") some = 1
      if (!covers(groups[owner, i], resources[owner, i], group, resource)) continue
      if (side[owner, i] == "out") return 0
      inside = 1
    }
    return inside || !some
  }
  $1 == "kind" { kind[++all] = $2; next }
  $1 == "bound" { policy[$2] = $3; next }
  {
    # The core group is the empty name: an empty word of the list, so that the list may begin with its comma.
    owner = $1 "/" $2
    i = ++count[owner]
    side[owner, i] = $3; groups[owner, i] = $4; resources[owner, i] = $5
  }
  END {
    for (binding in policy) {
      if (!count["policy/" policy[binding]]) continue
      for (k = 1; k <= all; k++) {
        dot = index(kind[k], ".")
        resource = dot ? substr(kind[k], 1, dot - 1) : kind[k]
        group = dot ? substr(kind[k], dot + 1) : ""
        if ((group == "apps" && resource ~ /^(deployments|statefulsets|daemonsets)$/) || (group == "batch" && resource ~ /^(jobs|cronjobs)$/)) continue
        if (selects("policy/" policy[binding], group, resource) && selects("binding/" binding, group, resource)) print binding " asks about " kind[k]
      }
    }
  }')
[ -z "$caught" ] || { head -3 <<< "$caught" | paste -sd ';'; exit 1; }

# The register that is there, read with the rule that is there: an owner who is not the first.
register=$(kubectl -n policy-system get configmap owner-register -o jsonpath='{.data.owners}' 2>&1) || { echo "no register"; exit 1; }
kubectl -n shop create --dry-run=server -f - >/dev/null 2>&1 <<'YAML' || { echo "storefront is refused with the register that is there"; exit 1; }
apiVersion: apps/v1
kind: Deployment
metadata: {name: storefront-next, labels: {app: storefront-next, owner: storefront}}
spec:
  selector: {matchLabels: {app: storefront-next}}
  template:
    metadata: {labels: {app: storefront-next}}
    spec:
      containers: [{name: main, image: "registry.example.com/shop/storefront:2.18.0"}]
YAML

# Written as it was handed over, it has just been shown to be read. Written otherwise, a dry run cannot tell: no request can bring another
# register with it. Then the expressions of each policy that reads it have to do something about blanks, in whatever way.
case $register in *", "*) exit 0 ;; esac
bound=$(rules | awk '$1 == "bound" { print $3 }')
for policy in $bound; do
  expressions=$(kubectl get validatingadmissionpolicy "$policy" --ignore-not-found -o go-template='{{range .spec.variables}}{{.expression}}{{"\n"}}{{end}}{{range .spec.validations}}{{.expression}}{{"\n"}}{{end}}')
  case $expressions in
    *params*.trim\(* | *.trim\(*params* | *"' '"* | *'" "'* | *"', '"* | *'", "'* | *'\s'* | *', *'* | *', ?'*) ;;
    *params*) echo "$policy does not read a register that is written like the file"; exit 1 ;;
  esac
done
