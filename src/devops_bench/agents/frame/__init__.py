"""What all agent CLIs share: see `types` for the interface of an adapter."""
