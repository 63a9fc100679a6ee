"""The adapters: one module per agent CLI, each a `frame.Cli`."""
