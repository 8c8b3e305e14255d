"""Checks of reward signals, by subject."""
