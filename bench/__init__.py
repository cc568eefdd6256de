"""Benchmarks of the hot paths, each as a ratio to one JSON decode + encode of the same object.

`python -m bench [name ...]` runs them all, or the named modules. A module of this package that offers
`cases() -> Iterable[Case]` takes part; there is nothing to register.
"""
