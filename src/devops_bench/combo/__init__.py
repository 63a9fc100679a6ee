"""One combo end to end, in a process of its own:

Cluster, setup, negative check, agent, verification, scores, record.
"""
