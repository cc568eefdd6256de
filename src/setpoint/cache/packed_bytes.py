"""The bytes of objects in a compressed form, for caches of thousands of similar objects.

The pods of one template differ in their names, addresses and times only. So the objects of a kind are compressed with
one of them as the dictionary: a pod of three kilobytes takes about four hundred bytes.
"""

import zlib
from typing import NamedTuple

# Objects with fewer bytes stay as they are.
LEAST = 512
# A window of 4 KB: the state of a compressor with the largest window, a quarter of a megabyte, would be cleared for
# every object.
_WINDOW_BITS, _MEMORY_LEVEL, _LEVEL = -12, 4, 1
# zlib uses the end of a dictionary that is larger than its window.
_DICTIONARY = 4096
# The number of objects in succession that a dictionary hardly helps until another one is chosen.
_PATIENCE = 16


class PackedBytes(NamedTuple):
    """Compressed bytes, with the dictionary that all of them share."""

    dictionary: bytes
    packed: bytes

    def unpack(self) -> bytes:
        return zlib.decompressobj(_WINDOW_BITS, zdict=self.dictionary).decompress(self.packed)


class Packer:
    """Compresses the objects of one kind."""

    def __init__(self) -> None:
        self._dictionary = b""
        self._unlike = 0

    def pack(self, raw: bytes) -> bytes | PackedBytes:
        """Returns the compressed bytes; the bytes themselves if compression saves less than half of them."""
        if len(raw) < LEAST:
            return raw
        if not self._dictionary:
            self._dictionary = raw[-_DICTIONARY:]
        compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW_BITS, _MEMORY_LEVEL, zdict=self._dictionary)
        packed = compressor.compress(raw) + compressor.flush()
        if len(packed) * 2 <= len(raw):
            self._unlike = 0
            return PackedBytes(self._dictionary, packed)
        self._unlike += 1
        if self._unlike >= _PATIENCE:
            self._dictionary, self._unlike = raw[-_DICTIONARY:], 0
        return raw
