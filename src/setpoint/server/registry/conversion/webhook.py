"""Conversion by webhook: sends many objects per call, and caches the results.

Each call holds objects of one version that are wanted in another; a list needs a few calls, some of which run
concurrently. Requests for a conversion that is already being fetched wait for the same call. A call has 30 seconds, and
a cancelled caller does not affect the others.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from setpoint.objects.errors import APIError
from setpoint.objects.tree import Object
from setpoint.schema.crd.definition import CustomResourceDefinition
from setpoint.server.outbound.webhook_answer import UnreadableAnswer
from setpoint.server.outbound.webhook_client import CallError, ClientConfig
from setpoint.server.registry.conversion import review
from setpoint.server.registry.conversion.cache import Converted, Key, Memory, key_of
from setpoint.server.registry.conversion.caller import Caller
from setpoint.server.registry.conversion.pending import NotConverted, RequiredConversion
from setpoint.server.registry.conversion.review import BadAnswer, Batch, ConversionFailed

if TYPE_CHECKING:
    from setpoint.server.registry.conversion.conversion_metrics import ConversionMetrics

SECONDS = 30
# The maximum content of one call, and the number of concurrent calls of one request.
BATCH_OBJECTS, BATCH_BYTES = 500, 4 << 20
_AT_ONCE = 4
_ANSWER_BYTES = 16 << 20

# The objects of one call, by cache key.
_Batch: TypeAlias = Mapping[bytes, RequiredConversion]


class _Call:
    """A running call, with its objects and its result."""

    __slots__ = ("batch", "task")

    def __init__(self, batch: _Batch, task: "asyncio.Task[list[Converted] | ConversionFailed]") -> None:
        self.batch = batch
        self.task = task


class Shared(NamedTuple):
    """The state that the converters of one server share."""

    services: Caller
    memory: Memory
    measures: "ConversionMetrics"


class WebhookConverter:
    """Converts the objects of one version of a definition."""

    def __init__(self, shared: Shared, crd: CustomResourceDefinition) -> None:
        self._services, self._memory, self._measures = shared
        self._name = crd.name
        self._versions = {f"{crd.spec.group}/{version.name}" for version in crd.spec.versions}
        webhook = crd.spec.conversion.webhook if crd.spec.conversion else None
        config = webhook.client_config if webhook else None
        client = ClientConfig.of(msgspec.to_builtins(config) if config else {})
        # A CA bundle of only whitespace counts as empty.
        self._client = client._replace(authorities=client.authorities.strip())
        self._review_version = review.review_version(webhook.conversion_review_versions if webhook else ())
        # A changed definition may have another webhook: cached results of the previous one must not be used.
        self._scope = f"{crd.name}\0{crd.metadata.get('uid')}\0{crd.metadata.get('generation')}\0".encode()
        self._in_progress: dict[bytes, _Call] = {}

    def convert(self, tree: Object, from_version: str, to_version: str) -> Object:
        """Returns the object in another version. Raises NotConverted, or APIError for an unknown version."""
        if from_version == to_version or review.is_empty(tree):
            return {**tree, "apiVersion": to_version}
        self._check(from_version, to_version)
        wanted = RequiredConversion(tree, from_version, to_version)
        found = self._memory.find(self._key(wanted).digest)
        if found is None:
            raise NotConverted(wanted)
        return found.of(tree)

    async def fetch(self, wanted: Sequence[RequiredConversion]) -> list[Converted]:
        """Converts objects; `convert` finds them while the caller holds the returned list. Raises ConversionFailed."""
        held, missing = self._split({self._key(each): each for each in wanted})
        others = {key: each for key, each in missing.items() if key.digest in self._in_progress}
        calls = {self._in_progress[key.digest] for key in others}
        held += await self._convert_missing({key: each for key, each in missing.items() if key not in others})
        if calls:
            held += await self._join_calls(calls, {key.digest for key in missing})
            more, left = self._split(others)
            held += [*more, *await self._convert_missing(left)]
        return held

    async def _join_calls(self, calls: set[_Call], wanted: set[bytes]) -> list[Converted]:
        """Waits for calls of other requests, and returns their successful results."""
        await asyncio.wait([call.task for call in calls])
        held: list[Converted] = []
        for call in calls:
            made = call.task.result()
            if not isinstance(made, ConversionFailed):
                held += made
            elif call.batch.keys() <= wanted:
                # The call had no other objects, so another call would fail too.
                raise made
        return held

    async def _convert_missing(self, missing: Mapping[Key, RequiredConversion]) -> list[Converted]:
        """Converts all missing objects, with a limited number of concurrent calls."""
        held: list[Converted] = []
        batches = list(_batches(missing))
        for start in range(0, len(batches), _AT_ONCE):
            calls = [self._begin(batch) for batch in batches[start : start + _AT_ONCE]]
            await asyncio.wait([call.task for call in calls])
            for call in calls:
                made = call.task.result()
                if isinstance(made, ConversionFailed):
                    raise made
                held += made
        return held

    def _key(self, wanted: RequiredConversion) -> Key:
        return key_of(self._scope, wanted)

    def _check(self, *versions: str) -> None:
        for which, version in zip(("from", "to"), versions, strict=True):
            if version not in self._versions:
                raise APIError(f"request to convert CR {which} an invalid group/version: {version}")

    def _split(self, wanted: Mapping[Key, RequiredConversion]) -> tuple[list[Converted], dict[Key, RequiredConversion]]:
        """Returns the cached conversions, and the missing ones."""
        known: list[Converted] = []
        missing: dict[Key, RequiredConversion] = {}
        for key, each in wanted.items():
            found = self._memory.find(key.digest)
            if found is None:
                self._check(each.from_version, each.to_version)
                missing[key] = each
            else:
                known.append(found)
        return known, missing

    def _begin(self, batch: _Batch) -> _Call:
        """Starts a call, which continues even if its caller is cancelled."""
        call = _Call(batch, asyncio.ensure_future(self._convert_batch(batch)))
        self._in_progress.update(dict.fromkeys(batch, call))
        call.task.add_done_callback(lambda _: self._ended(call))
        return call

    def _ended(self, call: _Call) -> None:
        for digest in call.batch:
            if self._in_progress.get(digest) is call:
                del self._in_progress[digest]

    async def _convert_batch(self, batch: _Batch) -> list[Converted] | ConversionFailed:
        """Returns the converted objects, or the error."""
        clock = self._services.clock
        started = clock.monotonic()
        first = next(iter(batch.values()))
        failed: ConversionFailed | None = None
        try:
            trees = await self._call(
                [review.shown(each.tree) for each in batch.values()], first.from_version, first.to_version
            )
            return [self._memory.put(digest, tree) for digest, tree in zip(batch, trees, strict=True)]
        except ConversionFailed as error:
            failed = error
            return error
        finally:
            self._measures.observe(
                self._name, first.from_version, first.to_version, failed, clock.monotonic() - started
            )

    async def _call(self, objects: Sequence[Object], from_version: str, to_version: str) -> list[Object]:
        batch, version = Batch("conversion webhook", objects, from_version, to_version), self._review_version
        if version is None:
            raise batch.failed("no supported conversion review versions", review.CALL)
        uid = self._services.ids.uid()
        body = review.encode_request(uid, version, to_version, objects)
        try:
            answer = await self._services.webhooks.post(self._client, body, SECONDS)
            answers = review.read_answer(answer, uid, version, _ANSWER_BYTES)
        except (CallError, UnreadableAnswer) as error:
            raise batch.failed(str(error), review.CALL) from None
        except BadAnswer as error:
            raise batch.failed(str(error), review.MALFORMED) from None
        return batch.checked(answers)


def _batches(missing: Mapping[Key, RequiredConversion]) -> Iterator[dict[bytes, RequiredConversion]]:
    """Yields the batches of one call each: objects of the same versions, limited in number and bytes."""
    by_versions: dict[tuple[str, str], dict[Key, RequiredConversion]] = {}
    for key, wanted in missing.items():
        by_versions.setdefault((wanted.from_version, wanted.to_version), {})[key] = wanted
    for group in by_versions.values():
        batch: dict[bytes, RequiredConversion] = {}
        size = 0
        for key, wanted in group.items():
            if batch and (len(batch) == BATCH_OBJECTS or size + key.size > BATCH_BYTES):
                yield batch
                batch, size = {}, 0
            batch[key.digest] = wanted
            size += key.size
        yield batch
