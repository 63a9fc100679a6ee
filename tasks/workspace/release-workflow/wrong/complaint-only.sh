#!/usr/bin/env bash
# Fix what the review quotes, leave the rest.
# rung: first-obvious-fix
# breaks: ..., pinned, job-permissions, no-injection
set -euo pipefail
cd storefront/.github/workflows
sed -i 's/pull_request_target:/pull_request:/; s/needs: test/needs: [test, scan]/; s/write-all/\n  contents: read/' release.yml
git commit -qam "Security review"
