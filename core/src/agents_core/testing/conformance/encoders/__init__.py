"""Checks of encoders, by subject."""
