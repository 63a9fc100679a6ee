"""One module per family of checks; each check is one function (check, scope) -> Verdict, listed in `evaluate`."""
