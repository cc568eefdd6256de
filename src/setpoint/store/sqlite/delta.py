"""How the value of a revision is kept: whole, or as its difference from the value before it.

Objects mostly change in a few places. The ends that two values share are cut off; what is left is kept as it is when
it is short, or deflated with the old value's middle as the dictionary, which finds whatever else they share. A 2 KB
object that changed one field takes some ten bytes, one that changed all over no more than deflating it alone would.
"""

import zlib

# The forms a value is kept in. A difference can only be read together with the value before it.
DELETED, WHOLE, DEFLATED, PATCH, DEFLATED_PATCH = range(5)
# The value was purged; in its place there is the tombstone. It stands for itself, as all forms below PATCH do.
PURGED = -1

_SHORT = 64  # bytes that are not worth deflating
_RAW = -15  # deflate without header and checksum: the row has its own


def is_difference(form: int) -> bool:
    return form >= PATCH


def encode_whole(value: bytes | None) -> tuple[int, bytes | None]:
    """The form and the bytes that keep a value by itself."""
    if value is None:
        return DELETED, None
    if len(value) > _SHORT:
        deflater = zlib.compressobj(6, wbits=_RAW)
        deflated = deflater.compress(value) + deflater.flush()
        if len(deflated) < len(value):
            return DEFLATED, deflated
    return WHOLE, value


def encode_difference(old: bytes, new: bytes) -> tuple[int, bytes] | None:
    """The form and the bytes that keep a value beside the one before it; None if that does not pay."""
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
    """The value again; `old` is the one before it, which only a difference needs. Raises ValueError for nonsense."""
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
    """How many bytes both begin with, by halving: they agree before `low`, and differ before `high`."""
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
    """How many bytes both end with, in the same way."""
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
    """A number in seven bits a byte, the last one with its high bit clear."""
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
