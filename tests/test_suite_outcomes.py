"""The outcomes that the scripts for the suites of other projects read."""

from tools.suites.clients import Outcome, cargo_outcomes, surefire_outcomes

SUREFIRE = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="io.example.PodIT" tests="4" errors="1" skipped="1" failures="1">
  <testcase name="get" classname="io.example.PodIT" time="0.1"/>
  <testcase name="list" classname="io.example.PodIT" time="0.1"><failure message="no">at ...</failure></testcase>
  <testcase name="log" classname="io.example.PodIT" time="0.1"><error type="Timeout">at ...</error></testcase>
  <testcase name="evict" classname="io.example.PodIT" time="0"><skipped message="no node"/></testcase>
</testsuite>
"""
CARGO = """running 3 tests
test client::test::can_list ... ok
test client::test::can_exec ... a line of the test
FAILED
test client::test::invalid - should panic ... ok

failures:

---- client::test::can_exec stdout ----
    thread panicked
failures:
    client::test::can_exec

test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
"""


def test_failures_and_errors_of_surefire_are_failed_tests() -> None:
    assert list(surefire_outcomes(SUREFIRE)) == [
        Outcome("PodIT.get", "passed"),
        Outcome("PodIT.list", "failed"),
        Outcome("PodIT.log", "failed"),
        Outcome("PodIT.evict", "skipped"),
    ]


def test_tests_of_cargo_are_failed_by_the_list_at_the_end() -> None:
    assert list(cargo_outcomes(CARGO)) == [
        Outcome("client::test::can_exec", "failed"),
        Outcome("client::test::can_list", "passed"),
        Outcome("client::test::invalid", "passed"),
    ]
