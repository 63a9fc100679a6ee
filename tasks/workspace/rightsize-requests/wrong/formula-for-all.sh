#!/usr/bin/env bash
# The formula for everything, exceptions and incidents aside.
# breaks: incident-hours, autoscaled-cpu, too-new, close-enough
# rung: first-obvious-fix
set -euo pipefail
size() { # workload container millicores MiB
  sed -i "/- name: $2\$/,/limits:/{s/cpu: .*/cpu: $3m/;s/memory: .*/memory: $4Mi/};/- name: $2\$/,/- name: [^$2]/{/limits:/{n;s/memory: .*/memory: $4Mi/}}" shop-config/workloads/$1.yaml
}
size cart cart 1080 608
size search search 1120 1216
size worker worker 750 576
size worker metrics 20 64
size frontend frontend 420 288
size images images 160 704
size recommend recommend 290 896
size mailer mailer 20 96
git -C shop-config commit -qam 'Requests by usage, first quarter'
