"""The smoke test: is every configuration what its label says, on this host, before a matrix spends hours on it?

One small combo for each configuration, played by a scripted model (no tokens) or a real one. Used by `devops-bench smoke`
and as the gate in front of a run.
"""
