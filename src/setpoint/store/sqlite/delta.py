"""The encoding of the value of a revision: whole, or as its difference from the value before.

Objects mostly change in a few places. The common prefix and suffix of the two values are cut off; the middle is stored
as is if short, or deflated with the old value's middle as the dictionary, which finds all other common parts. A 2 KB
object with one changed field takes about ten bytes; an object that changed completely takes no more than deflating it
alone would.
"""

import zlib

# The forms of a stored value. A difference can only be decoded together with the value before.
DELETED, WHOLE, DEFLATED, PATCH, DEFLATED_PATCH = range(5)
# The value was purged; the tombstone is stored instead. Self-contained, as are all forms below PATCH.
PURGED = -1

_SHORT = 64  # bytes that are too few to deflate
_RAW = -15  # deflate without header and checksum: the row has its own checksum


def is_difference(form: int) -> bool:
    return form >= PATCH


def encode_full(value: bytes | None) -> tuple[int, bytes | None]:
    """Returns the form and the bytes that store a value by itself."""
    if value is None:
        return DELETED, None
    if len(value) > _SHORT:
        deflater = zlib.compressobj(6, wbits=_RAW)
        deflated = deflater.compress(value) + deflater.flush()
        if len(deflated) < len(value):
            return DEFLATED, deflated
    return WHOLE, value


def encode_difference(old: bytes, new: bytes) -> tuple[int, bytes] | None:
    """Returns the form and the bytes that store a value as a difference from the one before; None if not worthwhile."""
    start = _shared_start(old, new)
    end = _shared_end(old[start:], new[start:])
    middle = new[start : len(new) - end]
    ends = _number(start) + _number(end)
    if len(middle) <= _SHORT:
        return PATCH, ends + middle
    if len(middle) > len(new) // 2 and len(old) < len(new) // 4:
        return None
    deflater = zlib.compressobj(3, wbits=_RAW, zdict=old[start : len(old) - end])
    deflated = deflater.compress(middle) + deflater.flush()
    return (DEFLATED_PATCH, ends + deflated) if len(deflated) < len(new) // 2 else None


def decode(form: int, data: bytes | None, old: bytes | None) -> bytes | None:
    """Decodes a value; `old` is the value before, which only a difference needs. Raises ValueError for invalid data."""
    if form in (DELETED, PURGED):
        return None
    if data is None:
        raise ValueError("there is no value")
    if form == WHOLE:
        return data
    if form == DEFLATED:
        return _inflate(data, b"")
    if old is None:
        raise ValueError("the value before it is missing")
    start, place = _read_number(data, 0)
    end, place = _read_number(data, place)
    if start + end > len(old):
        raise ValueError("it does not fit the value before it")
    middle = data[place:]
    if form == DEFLATED_PATCH:
        middle = _inflate(middle, old[start : len(old) - end])
    return old[:start] + middle + old[len(old) - end :]


def _inflate(data: bytes, dictionary: bytes) -> bytes:
    inflater = zlib.decompressobj(wbits=_RAW, zdict=dictionary) if dictionary else zlib.decompressobj(wbits=_RAW)
    try:
        value = inflater.decompress(data)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not inflater.eof:
        raise ValueError("its end is missing")
    return value


def _shared_start(old: bytes, new: bytes) -> int:
    """Returns the length of the common prefix, by bisection: the values agree before `low` and differ before `high`."""
    low, high = 0, min(len(old), len(new))
    if old[:high] == new[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _shared_end(old: bytes, new: bytes) -> int:
    """Returns the length of the common suffix, by bisection as in `_shared_start`."""
    ends = len(old), len(new)
    low, high = 0, min(ends)
    if old[ends[0] - high :] == new[ends[1] - high :]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if old[ends[0] - middle : ends[0] - low] == new[ends[1] - middle : ends[1] - low]:
            low = middle
        else:
            high = middle
    return low


def _number(value: int) -> bytes:
    """Encodes a number in seven bits per byte, the last byte with its high bit clear."""
    if value < 0x80:
        return bytes((value,))
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def _read_number(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if place >= len(data) or shift > 35:
            raise ValueError("its beginning is damaged")
        digit = data[place]
        place += 1
        value |= (digit & 0x7F) << shift
        if digit < 0x80:
            return value, place
        shift += 7
