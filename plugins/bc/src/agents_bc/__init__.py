"""Behavioral cloning for agents."""
