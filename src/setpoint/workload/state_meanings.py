"""The meanings of the words for states: good, pending, bad."""

from typing import Literal, TypeAlias

Meaning: TypeAlias = Literal["good", "pending", "bad", "quiet", "heading", ""]

_WORDS: dict[Meaning, frozenset[str]] = {
    "good": frozenset(
        (
            "running",
            "ready",
            "healthy",
            "active",
            "available",
            "bound",
            "succeeded",
            "completed",
            "complete",
            "established",
            "true",
            "ok",
            "done",
        )
    ),
    "pending": frozenset(
        (
            "pending",
            "starting",
            "stopping",
            "waiting",
            "progressing",
            "terminating",
            "creating",
            "building",
            "pulling",
            "paused",
            "caution",
            "notready",
            "unknown",
            "removing",
            "restarting",
        )
    ),
    "bad": frozenset(
        (
            "failed",
            "failedtostart",
            "error",
            "unhealthy",
            "backoff",
            "crashloopbackoff",
            "lost",
            "evicted",
            "notfound",
            "false",
            "imagepullbackoff",
            "errimagepull",
            "oomkilled",
            "stuck",
            "unreachable",
            "dead",
        )
    ),
    "quiet": frozenset(
        (
            "finished",
            "terminated",
            "exited",
            "stopped",
            "none",
            "removed",
        )
    ),
}
_MEANINGS = {word: meaning for meaning, words in _WORDS.items() for word in words}


def meaning_of(word: str) -> Meaning:
    """Returns the meaning of a state: `Running` is good, `Pending` is pending, `Failed` is bad."""
    return _MEANINGS.get(word.lower(), "")
