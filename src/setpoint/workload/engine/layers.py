"""`imageLayers`: tar archives put on top of an image by a build of one instruction each. The image that comes of it is
named by what went into it, so that it is built once."""

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
    """A layer can't be used; names the field."""


def layered_name(image: str, image_id: str, layers: Sequence[Mapping[str, Any]]) -> str:
    """The name of an image with these layers on top: another one when the image or a layer changes."""
    parts = [image_id, *(str(layer.get("digest") or "") for layer in layers)]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    reference = parse(image)
    name = image.partition("@")[0].removesuffix(f":{reference.tag}")
    return f"{name}:setpoint-{key}"


def layers_archive(image: str, layers: Sequence[Mapping[str, Any]]) -> bytes:
    """The context of the build. Raises LayerError where a file is not the one that was meant."""
    made = io.BytesIO()
    lines = [f"FROM {image}"]
    with tarfile.open(fileobj=made, mode="w") as archive:
        for index, layer in enumerate(layers):
            name = f"layer{index}.tar"
            _add(archive, name, _contents(layer, f"imageLayers[{index}]"))
            # An archive that is added is unpacked.
            lines.append(f"ADD {name} /")
        _add(archive, DOCKERFILE, "\n".join([*lines, ""]).encode())
    return made.getvalue()


def _contents(layer: Mapping[str, Any], where: str) -> bytes:
    if not layer.get("source"):
        try:
            return base64.b64decode(layer.get("rawContents") or "", validate=True)
        except ValueError:
            raise LayerError(f"{where}.rawContents: this is no base64") from None
    source = Path(layer["source"])
    try:
        contents = source.read_bytes()
    except OSError as error:
        raise LayerError(f"{where}.source: {source} can't be read: {error.strerror}") from None
    found = hashlib.sha256(contents).hexdigest()
    wanted = str(layer.get("sha256") or "").lower().removeprefix("sha256:")
    if found != wanted:
        raise LayerError(f"{where}.sha256: {source} has the checksum {found}, not {wanted}: it is not the file meant")
    return contents


def _add(archive: tarfile.TarFile, name: str, contents: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(contents), 0o644
    archive.addfile(entry, io.BytesIO(contents))
