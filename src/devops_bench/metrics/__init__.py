"""Modules that are run by name because scripts call them so; the work is done in `scoring`."""
