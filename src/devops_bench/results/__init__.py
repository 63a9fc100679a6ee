"""What a finished attempt leaves on disk: records, rows, manifests, their writers and readers, and the aggregate.

Formats are those of docs/reference/results.md. Everything here is data in, data out; only `write`, `read` and
`aggregate` touch files.
"""
