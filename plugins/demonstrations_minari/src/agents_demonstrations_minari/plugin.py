"""What this distribution offers."""

from __future__ import annotations

from agents_core.plugin import DemonstrationFormatSpec, hookimpl


@hookimpl
def agents_demonstration_formats() -> list[DemonstrationFormatSpec]:
    return [
        DemonstrationFormatSpec(
            name="minari",
            summary="Minari data sets of the local store, as minari:ID",
            config="agents_demonstrations_minari.config:MinariConfig",
            factory="agents_demonstrations_minari.format:MinariDatasets",
        )
    ]
