#!/usr/bin/env bash
# Numbers from a spreadsheet, written file by file.
set -euo pipefail
size() { # workload container millicores MiB
  sed -i "/- name: $2\$/,/limits:/{s/cpu: .*/cpu: $3m/;s/memory: .*/memory: $4Mi/};/- name: $2\$/,/- name: [^$2]/{/limits:/{n;s/memory: .*/memory: $4Mi/}}" shop-config/workloads/$1.yaml
}
# fix: cart
size cart cart 250 416
# fix: search
size search search 1120 1216
# fix: worker
size worker worker 750 576
size worker metrics 20 64
# fix: frontend
size frontend frontend 800 288
# fix: mailer
size mailer mailer 20 96
# end
git -C shop-config commit -qam 'Requests by usage, first quarter'
