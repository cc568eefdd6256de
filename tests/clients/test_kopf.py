"""kopf runs an operator against the server: handlers, finalizers, status, timers, indexes and events."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.clients.manifests import GROUP, config_map, custom, definition
from tests.clients.operating import eventually, operating
from tests.clients.serving import Serving

# Runs a client of another project.
pytestmark = pytest.mark.slow

OPERATOR = Path(__file__).parent / "widget_operator.py"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def operator(server: Serving, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A running operator; the path of its log."""
    server.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition("widgets", "Widget"))
    server.ask("POST", CONFIG_MAPS, config_map("blue", labels={"indexed": "yes"}, colour="like the sky"))
    with operating(server, OPERATOR, tmp_path_factory.mktemp("operator")) as log:
        yield log


def status(server: Serving, name: str) -> Any:
    return server.get(f"{WIDGETS}/{name}").get("status", {})


def test_a_new_object_is_handled_and_its_status_says_so(server: Serving, operator: Path) -> None:
    server.ask("POST", WIDGETS, custom("Widget", "new", size=3))
    eventually(lambda: status(server, "new").get("phase") == "Made", operator)
    found = server.get(f"{WIDGETS}/new")
    assert found["status"]["create"] == {"made": "new of 3"}
    assert found["metadata"]["finalizers"] == ["kopf.zalando.org/KopfFinalizerMarker"]
    assert found["metadata"]["generation"] == 1


def test_a_change_is_handled_with_its_difference(server: Serving, operator: Path) -> None:
    server.ask("POST", WIDGETS, custom("Widget", "growing", size=1))
    eventually(lambda: status(server, "growing").get("phase") == "Made", operator)
    server.merge(f"{WIDGETS}/growing", {"spec": {"size": 8}})
    eventually(lambda: status(server, "growing").get("resized") == "1 to 8", operator)


def test_a_deletion_waits_for_its_handler_and_leaves_an_event(server: Serving, operator: Path) -> None:
    server.ask("POST", WIDGETS, custom("Widget", "going", size=2))
    eventually(lambda: status(server, "going").get("phase") == "Made", operator)
    server.ask("DELETE", f"{WIDGETS}/going")
    eventually(lambda: "going" not in server.names(WIDGETS), operator)

    def told() -> bool:
        events = server.get("/api/v1/namespaces/default/events")["items"]
        return any(each["reason"] == "Gone" and each["involvedObject"]["name"] == "going" for each in events)

    eventually(told, operator)


def test_a_timer_goes_on_ticking(server: Serving, operator: Path) -> None:
    ticking = custom("Widget", "ticking", size=1)
    ticking["metadata"]["annotations"] = {"tick": "yes"}
    server.ask("POST", WIDGETS, ticking)
    eventually(lambda: status(server, "ticking").get("ticks", 0) >= 3, operator)


def test_an_index_of_other_objects_is_at_hand(server: Serving, operator: Path) -> None:
    server.ask("POST", WIDGETS, custom("Widget", "painted", size=1, colour="blue"))
    eventually(lambda: status(server, "painted").get("paint") == "like the sky", operator)


def test_built_in_objects_are_watched_and_patched(server: Serving, operator: Path) -> None:
    server.ask("POST", CONFIG_MAPS, config_map("watched", labels={"seen": "no"}))
    eventually(lambda: server.get(f"{CONFIG_MAPS}/watched")["metadata"]["labels"] == {"seen": "yes"}, operator)
