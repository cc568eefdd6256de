"""`imageLayers`: adds tar archives to an image by a build with one instruction each. The resulting image is named by a
hash of its contents, so that the image is built only once."""

import base64
import hashlib
import io
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from setpoint.workload.engine.reference import parse

DOCKERFILE = "Dockerfile"


class LayerError(ValueError):
    """A layer cannot be used; the message names the field."""


def layered_name(image: str, image_id: str, layers: Sequence[Mapping[str, Any]]) -> str:
    """Returns the name of an image with these layers; the name changes with the image and each layer."""
    parts = [image_id, *(str(layer.get("digest") or "") for layer in layers)]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    reference = parse(image)
    name = image.partition("@")[0].removesuffix(f":{reference.tag}")
    return f"{name}:setpoint-{key}"


def layers_archive(image: str, layers: Sequence[Mapping[str, Any]]) -> bytes:
    """Returns the context of the build. Raises LayerError if the checksum of a file does not match."""
    made = io.BytesIO()
    lines = [f"FROM {image}"]
    with tarfile.open(fileobj=made, mode="w") as archive:
        for index, layer in enumerate(layers):
            name = f"layer{index}.tar"
            _add(archive, name, _contents(layer, f"imageLayers[{index}]"))
            # ADD unpacks an archive.
            lines.append(f"ADD {name} /")
        _add(archive, DOCKERFILE, "\n".join([*lines, ""]).encode())
    return made.getvalue()


def _contents(layer: Mapping[str, Any], where: str) -> bytes:
    if not layer.get("source"):
        try:
            return base64.b64decode(layer.get("rawContents") or "", validate=True)
        except ValueError:
            raise LayerError(f"{where}.rawContents: not valid base64") from None
    source = Path(layer["source"])
    try:
        contents = source.read_bytes()
    except OSError as error:
        raise LayerError(f"{where}.source: {source} cannot be read: {error.strerror}") from None
    found = hashlib.sha256(contents).hexdigest()
    wanted = str(layer.get("sha256") or "").lower().removeprefix("sha256:")
    if found != wanted:
        raise LayerError(f"{where}.sha256: {source} has the checksum {found}, expected {wanted}")
    return contents


def _add(archive: tarfile.TarFile, name: str, contents: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(contents), 0o644
    archive.addfile(entry, io.BytesIO(contents))
