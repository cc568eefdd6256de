"""The kinds of the group `apiextensions.k8s.io`."""

from typing import Final

GROUP: Final = "apiextensions.k8s.io"
RESOURCE: Final = "customresourcedefinitions"
# The keys of CustomResourceDefinitions in the store.
PREFIX: Final = f"/{GROUP}/{RESOURCE}/"
