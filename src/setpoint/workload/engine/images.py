"""The images of an engine: pull, build, load and tag, with progress."""

import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from setpoint.workload.engine import results
from setpoint.workload.engine.auth import every_registry, registry_auth
from setpoint.workload.engine.build_context import Context, file_blocks
from setpoint.workload.engine.errors import BadRequest, BuildFailed, EngineError, NotFound, PullFailed
from setpoint.workload.engine.progress import BuildProgress, ImageProgress, PullProgress
from setpoint.workload.engine.reference import parse
from setpoint.workload.engine.results import Image
from setpoint.workload.engine.wire import SLOW_SECONDS, Query, Wire, json_lines, segment

Watcher: TypeAlias = Callable[[ImageProgress], None]
_NO_SECRETS = (
    "build.secrets: Docker's API supports secrets only through BuildKit's own protocol; remedy: build the "
    "image with `docker build --secret` before and name it in `image`, or use Podman"
)
_TAR = {"content-type": "application/x-tar"}
# The time that a distant registry may take to start its response.
_BUILD_RETRIES, _REMOVED_LAYER = 2, "layer not known"
_BEGIN_SECONDS = 120.0


class BuildOptions(NamedTuple):
    """The options of a build."""

    tags: Sequence[str] = ()
    args: Mapping[str, str] = {}
    labels: Mapping[str, str] = {}
    stage: str = ""
    platform: str = ""
    # Secrets that the Dockerfile may mount, by id.
    secrets: Mapping[str, bytes] = {}
    pull: bool = False
    no_cache: bool = False
    cache_from: Sequence[str] = ()
    extra_hosts: Sequence[str] = ()
    network: str = ""
    shm_bytes: int = 0
    ulimits: Sequence[Mapping[str, Any]] = ()


class Images:
    """The images of one engine. `environ` locates the credentials for registries."""

    def __init__(self, wire: Wire, environ: Mapping[str, str]) -> None:
        self._wire = wire
        self._environ = environ

    async def inspect(self, image: str) -> Image:
        """Returns an image. Raises NoSuchImage."""
        return results.image(await self._wire.json("GET", f"/images/{segment(image)}/json"))

    async def find(self, image: str) -> Image | None:
        """Returns an image, or None if the engine's machine does not have the image."""
        try:
            return await self.inspect(image)
        except NotFound:
            return None

    async def ensure(
        self, image: str, policy: str = "missing", *, platform: str = "", watch: Watcher | None = None
    ) -> Image:
        """Returns the image, pulled as the policy says: always, missing or never. Raises NoSuchImage, Denied or
        PullFailed."""
        if policy == "never":
            return await self.inspect(image)
        found = None if policy == "always" else await self.find(image)
        return found or await self.pull(image, platform=platform, watch=watch)

    async def pull(self, image: str, *, platform: str = "", watch: Watcher | None = None) -> Image:
        """Pulls an image from its registry with the user's credentials. Raises NoSuchImage, Denied or PullFailed."""
        auth = await registry_auth(image, self._environ)
        wanted = parse(image)
        version = wanted.digest or wanted.tag
        name = image.partition("@")[0].removesuffix(f":{wanted.tag}")
        query = {"fromImage": name, "tag": version, "platform": platform or None}
        headers = {"x-registry-auth": auth} if auth else {}
        told = PullProgress()
        try:
            async with self._wire.stream(
                "POST", "/images/create", query, headers=headers, timeout=_BEGIN_SECONDS
            ) as stream:
                async for message in json_lines(stream):
                    progress = told.update(message, PullFailed)
                    if watch is not None:
                        watch(progress)
        except EngineError as error:
            if type(error) is EngineError:
                raise PullFailed(error.status, error.message) from None
            raise
        # The end of an interrupted stream is missing: the result depends on whether the image exists.
        return await self.inspect(image)

    async def build(self, context: Context, options: BuildOptions, *, watch: Watcher | None = None) -> Image:
        """Builds an image from a directory. Raises BuildFailed or ContextError."""
        for _ in range(_BUILD_RETRIES):
            try:
                return await self.build_archive(context.pieces(), context.dockerfile, options, watch=watch)
            except BuildFailed as error:
                # Podman looks for cached layers, and fails if another client removes one of them at that moment.
                if _REMOVED_LAYER not in error.message:
                    raise
        return await self.build_archive(context.pieces(), context.dockerfile, options, watch=watch)

    async def build_archive(
        self, archive: AsyncIterable[bytes], dockerfile: str, options: BuildOptions, *, watch: Watcher | None = None
    ) -> Image:
        """Builds an image from a tar archive. Raises BuildFailed."""
        query = _build_query(dockerfile, options)
        if options.secrets:
            if self._wire.engine != "podman":
                raise BadRequest(400, _NO_SECRETS)
            names = {id_: f"setpoint-build-secret-{index}" for index, id_ in enumerate(options.secrets)}
            query["secrets"] = json.dumps([f"id={id_},src={name}" for id_, name in names.items()])
            archive = _with_files({names[id_]: value for id_, value in options.secrets.items()}, archive)
        registries = await every_registry(self._environ)
        headers = {**_TAR, "x-registry-config": registries} if registries else _TAR
        told = BuildProgress()
        try:
            async with self._wire.stream(
                "POST", "/build", query, pieces=archive, headers=headers, timeout=None
            ) as stream:
                async for message in json_lines(stream):
                    progress = told.update(message, BuildFailed)
                    if watch is not None:
                        watch(progress)
        except EngineError as error:
            if type(error) in (EngineError, BadRequest):
                raise BuildFailed(error.status, error.message) from None
            raise
        made = options.tags[0] if options.tags else told.image_id
        if not made:
            raise BuildFailed(0, "the build ended without an image")
        return await self.inspect(made)

    async def tag(self, image: str, name: str) -> None:
        """Adds a name to an image."""
        new = parse(name)
        query = {"repo": name.partition("@")[0].removesuffix(f":{new.tag}"), "tag": new.tag}
        await self._wire.request("POST", f"/images/{segment(image)}/tag", query)

    async def load(self, archive: AsyncIterable[bytes]) -> list[str]:
        """Loads images from an archive of `save`. Returns their names."""
        return await self._names_of("/images/load", {"quiet": True}, archive)

    async def save(self, image: str) -> AsyncIterator[bytes]:
        """Yields an archive of the image for `load`."""
        async with self._wire.stream("GET", f"/images/{segment(image)}/get", timeout=SLOW_SECONDS) as stream:
            async for piece in stream:
                yield piece

    async def import_root(self, archive: AsyncIterable[bytes], name: str) -> Image:
        """Creates an image of one layer from a tar archive of a root file system."""
        new = parse(name)
        repository = name.removesuffix(f":{new.tag}")
        query = {"fromSrc": "-", "repo": repository, "tag": new.tag}
        made = await self._names_of("/images/create", query, archive)
        # Podman ignores the tag.
        if made and await self.find(name) is None:
            await self.tag(made[-1], name)
        return await self.inspect(name)

    async def remove(self, image: str, *, force: bool = False) -> None:
        """Removes an image; a missing image is not an error. Raises InUse."""
        with suppress(NotFound):
            await self._wire.request("DELETE", f"/images/{segment(image)}", {"force": force}, timeout=SLOW_SECONDS)

    async def _names_of(self, path: str, query: Query, archive: AsyncIterable[bytes]) -> list[str]:
        found = []
        told = PullProgress()
        async with self._wire.stream("POST", path, query, pieces=archive, headers=_TAR, timeout=SLOW_SECONDS) as stream:
            async for message in json_lines(stream):
                progress = told.update(message, EngineError)
                line = progress.image_id or progress.line
                found.append(line.partition("Loaded image: ")[2] or line)
        return found


def _build_query(dockerfile: str, options: BuildOptions) -> dict[str, str | bool | Sequence[str] | None]:
    return {
        "dockerfile": dockerfile,
        "t": list(options.tags),
        "buildargs": _json(options.args),
        "labels": _json(options.labels),
        "target": options.stage or None,
        "platform": options.platform or None,
        "pull": options.pull,
        "nocache": options.no_cache,
        "cachefrom": json.dumps(list(options.cache_from)) if options.cache_from else None,
        "extrahosts": ",".join(options.extra_hosts) or None,
        "networkmode": options.network or None,
        "shmsize": str(options.shm_bytes) if options.shm_bytes else None,
        "ulimits": json.dumps(list(options.ulimits)) if options.ulimits else None,
        # Intermediate containers are not kept.
        "rm": True,
        "forcerm": True,
    }


async def _with_files(files: Mapping[str, bytes], archive: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yields the archive with additional files first. Podman accepts secrets in this way, and removes them from the
    context."""
    for name, contents in files.items():
        yield file_blocks(name, contents)
    async for piece in archive:
        yield piece


def _json(values: Mapping[str, str]) -> str | None:
    return json.dumps(dict(values)) if values else None


async def single_chunk(archive: bytes) -> AsyncIterator[bytes]:
    """Yields an archive in memory as a request body."""
    yield archive
