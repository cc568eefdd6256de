"""The served resources: their types, storage, strategies and versions, and the index of all of them."""
