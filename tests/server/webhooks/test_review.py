"""AdmissionReviews: what is written is read again as it was, and what is none is told from what is."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.gvk import GroupVersionKind, GroupVersionResource
from setpoint.server.admission.request import AdmissionRequest, AdmissionResponse, UserInfo
from setpoint.server.admission.webhook.review import decode_request, encode_answer, encode_request, read_answer
from setpoint.server.outbound.webhook_answer import UnreadableAnswer, decode_answer

LIMIT = 1 << 20
texts = st.text(max_size=8)
trees = st.dictionaries(texts, st.one_of(st.none(), texts, st.integers(-9, 9), st.lists(texts, max_size=2)), max_size=3)
kinds = st.builds(GroupVersionKind, texts, texts, texts)
resources = st.builds(GroupVersionResource, texts, texts, texts)
lists_of_texts = st.lists(texts, max_size=2)
users = st.builds(UserInfo, texts, lists_of_texts, texts, st.dictionaries(texts, lists_of_texts, max_size=2))
questions = st.builds(
    AdmissionRequest,
    uid=texts,
    kind=kinds,
    resource=resources,
    subresource=texts,
    request_kind=kinds,
    request_resource=resources,
    name=texts,
    namespace=texts,
    operation=texts,
    user=users,
    object=st.none() | trees,
    old_object=st.none() | trees,
    dry_run=st.booleans(),
    options=st.none() | trees,
)
operations = st.fixed_dictionaries({"op": st.sampled_from(("add", "remove")), "path": texts, "value": texts})
allowed = st.builds(
    AdmissionResponse,
    allowed=st.just(True),
    patch=st.lists(operations, max_size=2),
    warnings=lists_of_texts,
    audit_annotations=st.dictionaries(texts, texts, max_size=2),
)
denied = st.builds(
    AdmissionResponse,
    allowed=st.just(False),
    status=st.fixed_dictionaries({"message": texts, "code": st.integers(0, 599)}),
    patch=st.just([]),
    warnings=lists_of_texts,
)


def _plain(question: AdmissionRequest) -> AdmissionRequest:
    user = question.user
    groups, extra = list(user.groups), {name: list(values) for name, values in user.extra.items()}
    return _with_user(question, UserInfo(user.username, groups, user.uid, extra))


def _with_user(question: AdmissionRequest, user: UserInfo) -> AdmissionRequest:
    fields = {name: getattr(question, name) for name in AdmissionRequest.__slots__}
    return AdmissionRequest(**{**fields, "user": user._replace(groups=list(user.groups))})


@given(questions, st.sampled_from(("v1", "v1beta1")))
def test_a_question_arrives_as_it_was_sent(question: AdmissionRequest, version: str) -> None:
    found, found_version = decode_request(encode_request(question, version))
    assert (_plain(found), found_version) == (_plain(question), version)


@given(allowed | denied, texts, st.sampled_from(("v1", "v1beta1")))
def test_an_answer_arrives_as_it_was_sent(answer: AdmissionResponse, uid: str, version: str) -> None:
    review = decode_answer(encode_answer(answer, uid, version), LIMIT)
    assert read_answer(review, uid, version, mutating=True) == answer


@given(st.binary(max_size=60) | st.recursive(texts | st.none(), st.lists).map(lambda tree: json.dumps(tree).encode()))
def test_whatever_somebody_answers_or_asks_is_read_or_refused(body: bytes) -> None:
    with suppress(UnreadableAnswer):
        assert type(decode_answer(body, LIMIT)) is dict
    with pytest.raises(ValueError):  # noqa: PT011 - what is wrong differs
        decode_request(body)


def test_an_answer_may_be_yaml() -> None:
    body = b"kind: AdmissionReview\napiVersion: admission.k8s.io/v1\nresponse: {uid: u, allowed: true}\n"
    assert read_answer(decode_answer(body, LIMIT), "u", "v1", mutating=False).allowed
