"""Checks of environments, by subject."""
