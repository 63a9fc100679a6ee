#!/usr/bin/env bash
# One container for each workload.
# breaks: lowered
set -euo pipefail
size() { # workload container millicores MiB
  sed -i "/- name: $2\$/,/limits:/{s/cpu: .*/cpu: $3m/;s/memory: .*/memory: $4Mi/};/- name: $2\$/,/- name: [^$2]/{/limits:/{n;s/memory: .*/memory: $4Mi/}}" shop-config/workloads/$1.yaml
}
size cart cart 250 416
size search search 1120 1216
size worker worker 750 576
size frontend frontend 800 288
size mailer mailer 20 96
git -C shop-config commit -qam 'Requests by usage, first quarter'
