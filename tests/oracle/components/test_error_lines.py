"""Lines of two logs are compared without the values of their runs."""

from collections import Counter

from tests.oracle.components.error_lines import allowed, normalized, unexplained

STALE = (
    'E1116 05:43:20.015988   26887 replica_set.go:640] "Unhandled Error" err="sync \\"default/web-8495449644\\" failed '
    'with read version: 432 is not as new as written version: 434 for group resource replicasets.apps" '
    'logger="UnhandledError"'
)
REFUSED = (
    'E1116 05:43:20.0 9 x.go:1] "Error" err="Get \\"https://127.0.0.1:34567/api/v1/pods/web-8495449644-x4b2p\\": 500" '
    'uid="d0a3b6f7-9d0e-4a53-9c8f-1d2c1b6b7a11"'
)


def test_only_warnings_and_errors_are_read() -> None:
    assert normalized('I1116 05:43:20.01 1 x.go:7] "Started"') == ""
    assert normalized('W1116 05:43:20.01 1 x.go:7] "Odd"') == 'x.go: "Odd"'
    assert normalized("a line of another form") == ""
    assert normalized('F1116 05:43:20.01 1 x.go:7] "Ended"') == 'x.go: "Ended"'


def test_values_of_a_run_have_stand_ins() -> None:
    assert normalized(REFUSED) == 'x.go: "Error" err="Get \\"SERVER/api/v1/pods/web-RANDOM\\": 500" uid="UID"'


def test_words_of_a_name_are_no_random_ends() -> None:
    line = "E1116 05:43:20.0 9 x.go:1] kube-system/extension-apiserver-authentication of kube-controller-manager"
    assert normalized(line) == "x.go: kube-system/extension-apiserver-authentication of kube-controller-manager"


def test_an_error_is_unexplained_unless_both_runs_have_the_error_or_the_table_does() -> None:
    table = allowed()
    stale, refused = normalized(STALE), normalized(REFUSED)
    assert unexplained(Counter([stale, refused, refused]), Counter(), table) == {refused: 2}
    assert not unexplained(Counter([refused, refused]), Counter([refused]), table)


def test_every_row_of_the_table_has_a_reason() -> None:
    assert all(row.reason for row in allowed())
