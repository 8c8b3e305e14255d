"""Checks of trainers, by subject."""
