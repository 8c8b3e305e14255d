"""Plugins: found, judged, loaded one by one, and looked up by kind and name."""

from agents_core.registry.errors import (
    AmbiguousComponentError,
    BlockedNameError,
    BrokenPluginError,
    LocalPluginError,
    ObserverError,
    RequirementError,
    StrictPluginsError,
    UnknownComponentError,
)
from agents_core.registry.loader import load_registry
from agents_core.registry.names import nearest
from agents_core.registry.records import Component, PluginCommand, PluginRecord
from agents_core.registry.table import Registry

__all__ = [
    "AmbiguousComponentError",
    "BlockedNameError",
    "BrokenPluginError",
    "Component",
    "LocalPluginError",
    "ObserverError",
    "PluginCommand",
    "PluginRecord",
    "Registry",
    "RequirementError",
    "StrictPluginsError",
    "UnknownComponentError",
    "load_registry",
    "nearest",
]
