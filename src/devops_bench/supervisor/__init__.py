"""The supervisor of a run: journal, scheduling, adoption, stop. One detached process per run."""
