"""The cache of the current state of a store, and indexes of the current state."""

from setpoint.store.cached.any_age import AnyAge
from setpoint.store.cached.publishing import Publishing
from setpoint.store.cached.state_cache import StateCache
from setpoint.store.cached.term_index import Term, Wanted
from setpoint.store.cached.term_indexes import HeldState, Range, TermIndexes

__all__ = ["AnyAge", "HeldState", "Publishing", "Range", "StateCache", "Term", "TermIndexes", "Wanted"]
