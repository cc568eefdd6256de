"""Every common mistake has a message with its fix, and the page shows these messages."""

import inspect

import pytest
from tests.controller.mistakes.cases import CASES, Case
from tools.mistakes_page import PAGE, markdown

# The part of each message that names the fix in the author's code.
FIXES = {
    "forgotten_owns": "add owns=[ConfigMap] to the controller",
    "cluster_scoped_child": "apply the object without ctx.own",
    "child_without_namespace": "ctx.own(child) sets the namespace of the owner",
    "read_without_namespace": 'as in get(ConfigMap, "list", "default")',
    "class_without_status": "`status: NoteStatus | None = None`",
    "server_without_status": "`await client.install(Note)` for a class with a field `status`",
    "builtin_kind_without_status": "ctx.recorder.normal(obj, REASON, MESSAGE)",
    "unknown_status_field": "did you mean text?",
    "status_field_of_another_type": "TeamStatus.text: Expected `str`, got `int`",
    "changed_object_of_the_cache": "change a copy, obj.edit()",
    "apply_of_a_read_object": "Change the object with `edit`",
    "edit_that_returns_a_value": "change the object in place and return None",
    "apply_without_a_manager": 'client.with_options(field_manager="NAME")',
    "requeue_without_a_pause": "Return Result(requeue_after=SECONDS)",
    "missing_definition": "`await client.install(Team)` installs the definition",
    "controller_of_a_missing_definition": 'Watch("example.com/v1/Team", optional=True)',
    "write_of_an_undeclared_kind": "add owns=[ConfigMap] to the controller team",
    "undeclared_write_in_a_test": 'add owns=["v1/ConfigMap"] to the controller',
    "loop_in_a_test": "each run changes data.run. A reconcile without news must change no field",
    "missing_rights": "setpoint controllers rbac MODULE | kubectl apply -f -",
    "undeclared_controller": "decorate it with @controller(Kind)",
    "reconcile_that_returns_another_value": "not int: return sp.Result(requeue_after=SECONDS)",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
async def test_the_message_of_a_mistake_names_the_fix(case: Case) -> None:
    assert FIXES[case.__name__] in await case()
    # The last mistake is not in the code, but in the rights of the account.
    assert ("# wrong" in inspect.getsource(case)) == (case.__name__ != "missing_rights")


async def test_the_page_of_common_mistakes_is_current() -> None:
    assert PAGE.read_text() == await markdown(), "write the page again: python -m tools.mistakes_page"
