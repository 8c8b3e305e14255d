"""Contracts and machinery that every `agents` plugin builds on."""

__version__ = "0.1.0"
