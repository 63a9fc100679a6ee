#!/usr/bin/env bash
# Written anew.
set -euo pipefail
cd storefront
# fix: the release
cat > .github/workflows/release.yml <<'YML'
name: release
on:
  push: {branches: [main]}
  pull_request: {branches: [main]}
permissions: {contents: read}
jobs:
  test:
    runs-on: ubuntu-24.04
    timeout-minutes: 15
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683
      - uses: actions/setup-node@49933ea5288caeca8642d1e84afbd3f7d6820020
        with: {node-version: 24, cache: npm}
      - run: npm ci
      - name: Unit tests
        run: npm test
  scan:
    runs-on: ubuntu-24.04
    timeout-minutes: 15
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683
      - uses: northwind/image-scan@4b1d9c8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c
        with: {fail-on: high}
  publish:
    runs-on: ubuntu-24.04
    timeout-minutes: 30
    needs: [scan, test]
    if: ${{ github.event_name == 'push' && github.ref == 'refs/heads/main' }}
    permissions: {packages: write, contents: read}
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683
      - uses: docker/login-action@74a5d142397b4f367a81961eba4e8cd7edddf772
        with:
          registry: ghcr.io
          username: ${{ github.actor }}
          password: ${{ secrets.GITHUB_TOKEN }}
      - name: Build and push
        env:
          TAG: ghcr.io/example/storefront:${{ github.sha }}
        run: |
          docker build --tag "$TAG" .
          docker push "$TAG"
YML
# fix: the nightly scan
sed -i -e 's#actions/checkout@v4#actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683#' \
  -e 's#image-scan@v2#image-scan@4b1d9c8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c#' \
  -e 's/contents: write/contents: read/' -e 's/^jobs:/permissions: {contents: read}\njobs:/' .github/workflows/nightly.yml
# fix: on main
git add -A
git commit -qm "Rewrite the release workflow by the rules"
# end
