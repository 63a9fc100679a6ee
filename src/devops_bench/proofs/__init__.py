"""Proofs that a task is honest: it starts unsolved, its solutions pass, its wrong answers fail where they say.

`cases` says what has to be run for a task, `lab` runs one case on a cluster and workspace of its own, `judge` (pure)
compares what happened with what a case promises, `engine` runs all of it side by side. Called by `devops-bench tasks
validate`; nothing here knows of models or runs.
"""
