"""Generative adversarial imitation learning for agents."""
