"""The order of field errors: rules that the API declares come last, and no error is told twice."""

from setpoint.objects.field import declared_last, duplicate, invalid, required, too_many, without_repeats

RULES = ("a TooMany", "a[*] Duplicate", "a[*].x Required", "a[*].y Invalid must", "b Invalid")


def test_errors_of_declared_rules_come_last_in_the_order_of_the_rules() -> None:
    errors = [invalid("b", 1, "odd"), required("c"), required("a[0].x"), too_many("a", 3, 2)]
    assert declared_last(errors, RULES) == [errors[1], errors[3], errors[2], errors[0]]


def test_the_items_of_a_list_come_one_after_another() -> None:
    errors = [required("a[1].x"), invalid("a[0].y", 1, "must be 2"), required("a[0].x"), duplicate("a[1]", "z")]
    assert declared_last(errors, RULES) == [errors[3], errors[2], errors[1], errors[0]]


def test_a_rule_with_a_detail_is_about_errors_with_that_detail_only() -> None:
    errors = [invalid("a[0].y", 1, "must be 2"), invalid("a[0].y", 1, "mustard"), invalid("a[key].y", 1, "must be 3")]
    assert declared_last(errors, RULES) == [errors[1], errors[0], errors[2]]


def test_errors_that_read_alike_are_told_once() -> None:
    errors = [invalid("a", {"b": 1}, "odd"), required("a"), invalid("a", {"b": 1}, "odd")]
    assert without_repeats(errors) == errors[:2]
