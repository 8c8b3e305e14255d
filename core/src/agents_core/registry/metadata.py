"""What an installed distribution says of itself, parsed once."""

from __future__ import annotations

from dataclasses import dataclass
from email.parser import HeaderParser
from importlib.metadata import Distribution


@dataclass(frozen=True, slots=True)
class DistributionMetadata:
    """The headers of a distribution's METADATA that we use.

    Attributes:
        requires: The `Requires-Dist` lines as written.
        urls: `label, address`, or an address alone.
    """

    name: str
    version: str
    summary: str | None = None
    licence: str | None = None
    urls: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()


def read_metadata(distribution: Distribution) -> DistributionMetadata | None:
    """The distribution's metadata; None where it has none or it lacks name or version.

    `Distribution.name`, `.version` and `.requires` each parse the whole file anew, which is what made discovery slow.

    Raises:
        Exception: The file cannot be read or decoded.
    """
    text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO")
    if not text:
        return None
    # The body is the project's README; only the headers above it matter.
    headers = HeaderParser().parsestr(text.replace("\r\n", "\n").partition("\n\n")[0])

    def first(*keys: str) -> str | None:
        for key in keys:
            lines = str(headers.get(key, "")).strip().splitlines()
            if lines and lines[0] != "UNKNOWN":
                return lines[0].strip()
        return None

    name, version = first("Name"), first("Version")
    if name is None or version is None:
        return None
    return DistributionMetadata(
        name=name,
        version=version,
        summary=first("Summary"),
        licence=first("License-Expression", "License"),
        urls=tuple(str(url) for key in ("Project-URL", "Home-page") for url in headers.get_all(key, [])),
        requires=tuple(str(line) for line in headers.get_all("Requires-Dist", [])),
    )
