"""Reads of large objects in every form: `python -m bench.loop_gap read:`."""

from collections.abc import Iterator

import msgspec

from bench.loop_gap import Ask, GapCase

_PATH = "/api/v1/namespaces/default/configmaps"
_HISTORY = "/apis/setpoint.dev/v1/namespaces/default/configmaps/large/history"
_KEYS = 60_000
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


def _config_map() -> bytes:
    data = {f"key-{number}": "value" for number in range(_KEYS)}
    return msgspec.json.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": data})


def gap_cases() -> Iterator[GapCase]:
    before = (Ask("POST", _PATH, _config_map()),)

    def case(name: str, path: str, accept: str, method: str = "GET") -> GapCase:
        ask = Ask(method, path, headers=(("Accept", accept),))
        return GapCase(f"read: {name}", f"{_KEYS:,} keys", (ask,), before)

    one = f"{_PATH}/large"
    yield case("object", one, "application/json")
    yield case("object as YAML", one, "application/yaml")
    yield case("object with indents", f"{one}?pretty=true", "application/json")
    yield case("object as Table", f"{one}?includeObject=Object", _TABLE)
    yield case("object as PartialObjectMetadata", one, _PARTIAL)
    yield case("list as YAML", _PATH, "application/yaml")
    yield case("list with indents", f"{_PATH}?pretty=true", "application/json")
    yield case("list as Table", f"{_PATH}?includeObject=Object", _TABLE)
    yield case("history as YAML", _HISTORY, "application/yaml")
    yield case("delete", one, "application/json", "DELETE")
