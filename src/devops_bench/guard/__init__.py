"""Which commands and tool calls would change a cluster that this attempt did not make. Pure policy, no processes."""
