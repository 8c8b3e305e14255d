"""Images of observations: one or several PNG files back to back, three channels each."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image

Bytes8 = npt.NDArray[np.uint8]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MAX_PIXELS = 1 << 24
_DROPPED = -1
_MODES = {"1": "L", "L": "L", "P": "RGB", "RGB": "RGB", "RGBA": "RGBA", "LA": "LA"}
"""How each kind of PNG is unpacked to bytes."""


class ImageError(Exception):
    """An image cannot be decoded; the message says why."""


def image_size(data: bytes) -> tuple[int, int]:
    """Height and width that the first image claims.

    Raises:
        ImageError: It is no PNG.
    """
    if not data.startswith(_SIGNATURE) or data[12:16] != b"IHDR" or len(data) < 24:
        raise ImageError("an image that is no PNG")
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if not 0 < width * height <= _MAX_PIXELS:
        raise ImageError(f"an image of {width} x {height} pixels")
    return height, width


def decode_channels(data: bytes) -> Bytes8:
    """uint8[height, width, channels] of all images, their channels one after another.

    Raises:
        ImageError: One is damaged, or they differ in size.
    """
    images = [_decode(part) for part in _split(data)]
    if len({image.shape[:2] for image in images}) > 1:
        raise ImageError(f"images of different sizes in one observation: {[image.shape[:2] for image in images]}")
    return images[0] if len(images) == 1 else np.concatenate(images, axis=2)


def choose_channels(channels: Bytes8, wanted: int, mapping: Sequence[int]) -> Bytes8:
    """uint8[height, width, wanted]: what the channels of the images mean.

    Args:
        channels: uint8[height, width, n], as decoded.
        wanted: Channels of the observation.
        mapping: For each of the n its place, -1 = none; those with one place are averaged. Empty: the first ones
            stay, and a single one is the average of the first image's.

    Raises:
        ImageError: There are too few channels, or the mapping does not fit.
    """
    found = channels.shape[2]
    if not mapping:
        if wanted == 1 and found > 1:
            return _mean(channels[:, :, :3])
        if found < wanted:
            raise ImageError(f"{found} channels in the images, {wanted} in the observation")
        return channels[:, :, :wanted]
    places = np.array(mapping)
    used = np.unique(places[places != _DROPPED])
    if len(places) != found or not np.array_equal(used, np.arange(wanted)):
        raise ImageError(f"a channel mapping {list(mapping)} that does not lead from {found} to {wanted} channels")
    return np.concatenate([_mean(channels[:, :, places == place]) for place in range(wanted)], axis=2)


def encode(image: Bytes8) -> bytes:
    """PNG files, three channels each, of uint8[height, width, channels]; a single channel is repeated."""
    channels = image.shape[2]
    if channels == 1:
        image = np.repeat(image, 3, axis=2)
    missing = -image.shape[2] % 3
    if missing:
        image = np.concatenate([image, np.zeros((*image.shape[:2], missing), np.uint8)], axis=2)
    parts = []
    for first in range(0, image.shape[2], 3):
        written = io.BytesIO()
        Image.fromarray(np.ascontiguousarray(image[:, :, first : first + 3])).save(written, "PNG")
        parts.append(written.getvalue())
    return b"".join(parts)


def _mean(channels: Bytes8) -> Bytes8:
    if channels.shape[2] == 1:
        return channels
    mean: Bytes8 = np.rint(channels.mean(axis=2, keepdims=True, dtype=np.float32)).astype(np.uint8)
    return mean


def _split(data: bytes) -> list[bytes]:
    """Single PNG files, found by walking over their chunks."""
    parts, start = [], 0
    while start < len(data):
        if not data.startswith(_SIGNATURE, start):
            raise ImageError("an image that is no PNG")
        at, kind = start + len(_SIGNATURE), b""
        while kind != b"IEND":
            kind = data[at + 4 : at + 8]
            at += 12 + int.from_bytes(data[at : at + 4], "big")
            if at > len(data):
                raise ImageError("an image that is cut")
        parts.append(data[start:at])
        start = at
    if not parts:
        raise ImageError("an image without any data")
    return parts


def _decode(data: bytes) -> Bytes8:
    """uint8[height, width, channels] of one PNG file."""
    image_size(data)
    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            if image.mode not in _MODES:
                raise ImageError(f"an image of kind {image.mode!r}; eight bits a channel are read")
            pixels = np.asarray(image.convert(_MODES[image.mode]))
    except ImageError:
        raise
    except Exception as error:  # Pillow raises about anything on a damaged file
        raise ImageError(f"an image that is damaged: {error}") from error
    return pixels[:, :, None] if pixels.ndim == 2 else pixels
