"""A request that wrote no object is repeated: the real server chooses one of several faults at random."""

from collections.abc import Iterable
from typing import Any

import msgspec
from tests.oracle.canonical import Names
from tests.oracle.own_group import without_own_group
from tests.oracle.pair import Pair
from tests.oracle.request import NO_EPISODE, Request
from tests.oracle.wire import Answer


class Scripted(Pair):
    """A pair that gives prepared answers."""

    def __init__(self, answers: Iterable[tuple[Answer, Answer]]) -> None:
        self._answers = iter(answers)
        self.count = 0

    def exchange(
        self, request: Request, names: tuple[Names, Names], episode: str = NO_EPISODE
    ) -> tuple[Answer, Answer]:
        self.count += 1
        return next(self._answers)


def plain(code: int, text: str) -> Answer:
    return Answer(code, (("content-type", "text/plain"),), text.encode())


def sent(pair: Scripted, request: Request) -> int:
    """Returns the number of differences."""
    return len(pair.compared(request, (Names(), Names()), NO_EPISODE)[1].differences)


def test_a_refused_write_is_repeated_until_the_answers_agree() -> None:
    pair = Scripted([(plain(422, "a"), plain(422, "b")), (plain(422, "b"), plain(422, "b"))])
    assert sent(pair, Request("PATCH", "/x")) == 0
    assert pair.count == 2


def test_a_dry_run_is_repeated() -> None:
    pair = Scripted([(plain(422, "a"), plain(200, "b")), (plain(200, "b"), plain(200, "b"))])
    assert sent(pair, Request("POST", "/x", (("dryRun", "All"),))) == 0
    assert pair.count == 2


def test_a_write_is_sent_once() -> None:
    for codes in ((200, 200), (200, 422), (422, 200)):
        pair = Scripted([(plain(codes[0], "a"), plain(codes[1], "b"))])
        assert sent(pair, Request("POST", "/x")) == 1
        assert pair.count == 1
    pair = Scripted([(plain(404, "a"), plain(404, "b"))])
    assert sent(pair, Request("DELETE", "/x")) == 1


def test_our_documents_are_compared_without_the_group_that_the_real_server_does_not_have() -> None:
    groups = {"kind": "APIGroupList", "groups": [{"name": "apps"}, {"name": "metrics.k8s.io"}]}
    found = without_own_group(Answer(200, (), msgspec.json.encode(groups)))
    assert msgspec.json.decode(found.body)["groups"] == [{"name": "apps"}]
    listed = {"items": [{"metadata": {"name": "metrics.k8s.io"}}, {"metadata": {"name": "policy"}}]}
    found = without_own_group(Answer(200, (), msgspec.json.encode(listed)))
    assert [each["metadata"]["name"] for each in msgspec.json.decode(found.body)["items"]] == ["policy"]
    document: dict[str, Any] = {
        "paths": {"/apis/metrics.k8s.io/v1beta1/pods": {}, "/apis/apps": {}},
        "definitions": {"io.k8s.a": {}},
    }
    found = without_own_group(Answer(200, (), msgspec.json.encode(document)))
    assert msgspec.json.decode(found.body) == {"paths": {"/apis/apps": {}}, "definitions": {"io.k8s.a": {}}}
    other = Answer(200, (), b"metrics.k8s.io")
    assert without_own_group(other) is other
