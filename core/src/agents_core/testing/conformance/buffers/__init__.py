"""Checks of buffers, by subject."""
