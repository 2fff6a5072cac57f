"""The bytes of the protocol: packets as protobuf, without a library. Numbers of messages and fields are those of docs/protocol.md."""

from __future__ import annotations

from typing import Iterable, List, NamedTuple, Tuple, Union

VERSION = 2
MINOR = 4
FOREVER = 2**63 - 1
"""A time after all that a run reaches."""

MAX_FRAME = 64 << 20
MAX_PACKETS = 1 << 16
MAX_PAYLOAD = MAX_FRAME - (64 << 10)
MAX_NAME = 1024
MAX_LIST = 1 << 20
MAX_NAMES = 64 << 20
MAX_CONTROL = 4 << 20
MAX_RESULT = (4 << 20) - MAX_NAME
MAX_TEXT = 64 << 10

HELLO, WELCOME, START, GOODBYE, REFUSE, SEND, PROMISE = 2, 3, 4, 5, 6, 7, 8
ADVANCE, POLL_WAIT, LEAVE, DELIVERED, AUTHORIZE, INTRODUCE, FAILED = 9, 10, 11, 12, 13, 14, 15


class Instant(NamedTuple):
    """A time, in nanoseconds, and a step at that time. Instants compare in that order."""

    time: int
    step: int = 0


_new = tuple.__new__  # of a NamedTuple: in half of the time

ORIGIN = Instant(0, 0)
INFINITY = Instant(FOREVER, 2**32 - 1)

Buffer = Union[bytes, bytearray, memoryview]


class Malformed(Exception):
    """Bytes that are not the protocol."""


def at(time: int) -> Instant:
    return INFINITY if time >= FOREVER else Instant(time, 0)


# Writing.

_SHORT = [bytes([n]) for n in range(128)]
_TAGS = [bytes([n << 3 | 2]) for n in range(16)]
_INFINITE = [tag + b"\x02\x18\x01" for tag in _TAGS]


def varint(n: int) -> bytes:
    if n < 128:
        return _SHORT[n]
    if n < 1 << 14:
        return bytes((n & 127 | 128, n >> 7))
    if 1 << 28 <= n < 1 << 35:  # times between a quarter of a second and half a minute
        return bytes((n & 127 | 128, n >> 7 & 127 | 128, n >> 14 & 127 | 128, n >> 21 & 127 | 128, n >> 28))
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field: int, n: int) -> bytes:
    return _SHORT[field << 3] + varint(n) if n else b""


def data(field: int, value: Buffer) -> bytes:
    return b"%b%b%b" % (_TAGS[field], varint(len(value)), value)


def text(field: int, value: str) -> bytes:
    return data(field, value.encode()) if value else b""


def instant(field: int, i: Instant) -> bytes:
    if i == ORIGIN:
        return b""
    time, step = i
    if time == FOREVER:
        return _INFINITE[field]
    value = number(1, time) + number(2, step) if step else b"\x08" + varint(time)
    return _TAGS[field] + _SHORT[len(value)] + value


def packet(kind: int, body: bytes) -> bytes:
    """A packet of member 0, as an element of a frame."""
    size = varint(len(body))
    return b"\n%b%b%b%b" % (varint(len(body) + len(size) + 1), _TAGS[kind], size, body)


def report(now: Instant, floor: Instant, next_event: Instant, handled: int) -> bytes:
    """The report of a NotifyAdvance or a PollWait, as its field 1. One of zeros alone is left out."""
    said = instant(1, now)
    again = b"\x12" + said[1:] if said and floor == now else instant(2, floor)
    all_of_it = said + again + instant(3, next_event) + number(4, handled)
    return data(1, all_of_it) if all_of_it else b""


# Reading.

Field = Tuple[int, Union[int, memoryview]]


def fields(b: memoryview) -> Iterable[Field]:
    """Yields the fields of a message: a number and its value, which is an int or the bytes."""
    i, end = 0, len(b)
    while i < end:
        tag = b[i]
        i += 1
        if tag > 127:
            tag, i = _varint(b, i - 1, end)
        if i >= end:
            raise Malformed("a message that is cut off")
        value = b[i]
        i += 1
        if value > 127:
            value, i = _varint(b, i - 1, end)
        kind = tag & 7
        if kind == 2:
            if value > end - i:
                raise Malformed("a field that is longer than its message")
            yield tag >> 3, b[i:i + value]
            i += value
        elif kind == 0:
            yield tag >> 3, value
        else:
            raise Malformed("a field that is neither a number nor bytes")


def _varint(b: memoryview, i: int, end: int) -> Tuple[int, int]:
    n = 0
    for shift in range(0, 70, 7):
        if i >= end:
            break
        byte = b[i]
        i += 1
        n |= (byte & 127) << shift
        if byte < 128:
            if n >= 2**64:
                break
            return n, i
    raise Malformed("a number of more than 64 bits")


def read_instant(b: Union[int, memoryview], before: Instant = ORIGIN) -> Instant:
    """Reads an instant; before is what the same field said earlier in the message."""
    if before is ORIGIN and not isinstance(b, int) and len(b) > 1 and b[0] == 8:  # it begins with a time
        end = len(b)
        time, i = _varint(b, 1, end)
        if i == end and time < FOREVER:
            return _new(Instant, (time, 0))
    time, step = before if before != INFINITY else ORIGIN
    infinite = before == INFINITY
    for field, value in fields(as_bytes(b)):
        if not isinstance(value, int):
            raise Malformed("an instant that cannot be read")
        if field == 1 and value < FOREVER:
            time = value
        elif field == 2 and value < 2**32:
            step = value
        elif field == 3 and value < 2:
            infinite = value == 1
        else:
            raise Malformed("an instant that cannot be read")
    if not infinite:
        return Instant(time, step)
    if time or step:
        raise Malformed("an instant that is infinite and has a time")
    return INFINITY


def as_bytes(value: Union[int, memoryview]) -> memoryview:
    if isinstance(value, int):
        raise Malformed("a number in the place of bytes")
    return value


def as_number(value: Union[int, memoryview], most: int = 2**64 - 1) -> int:
    if not isinstance(value, int) or value > most:
        raise Malformed("a number that is too large, or bytes in its place")
    return value


def as_text(value: Union[int, memoryview], most: int = MAX_NAME) -> str:
    value = as_bytes(value)
    if len(value) > most:
        raise Malformed("a text that is too long")
    try:
        return str(value, "utf-8")
    except UnicodeDecodeError:
        raise Malformed("a text that is not UTF-8") from None


def frame(b: memoryview) -> List[Tuple[int, memoryview]]:
    """Reads a frame: the kinds and the bodies of its packets."""
    packets: List[Tuple[int, memoryview]] = []
    i, end = 0, len(b)
    while i < end - 3 and b[i] == 10:
        size, at = (b[i + 1], i + 2) if b[i + 1] < 128 else _varint(b, i + 1, end)
        last = at + size
        if size < 2 or last > end:
            break
        tag = b[at]
        inner, body = (b[at + 1], at + 2) if b[at + 1] < 128 else _varint(b, at + 1, last)
        if tag > 127 or tag & 7 != 2 or body + inner != last:
            break  # it may still be right, and is another one than most
        packets.append((tag >> 3, b[body:last]))
        i = last
    for field, packet in fields(b[i:]) if i < end else ():
        if field != 1 or isinstance(packet, int):
            raise Malformed("a frame that cannot be read")
        parts = list(fields(packet))
        if len(parts) == 2 and parts[0] == (1, 0):
            del parts[0]
        if len(parts) != 1 or isinstance(parts[0][1], int):
            raise Malformed("a packet that cannot be read")
        packets.append((parts[0][0], parts[0][1]))
    return packets


def authorized(body: memoryview) -> Instant:
    """Reads an AuthorizeAdvance: until when. What else it says is a hint for clients that keep their reports."""
    until = quiet = ORIGIN
    for field, value in fields(body):
        if field == 1:
            until = read_instant(value, until)
        elif field == 2:
            quiet = read_instant(value, quiet)
        else:
            raise Malformed("an AuthorizeAdvance with an unknown field")
    return until


def delivered(body: memoryview) -> Tuple[int, str, int, Instant, Instant, memoryview]:
    """Reads a DeliveredMessage: the number of its sender, channel, seq, sent, due and payload."""
    client = seq = 0
    channel = ""
    sent = due = ORIGIN
    payload = body[:0]
    i, end = 0, len(body)
    while i < end - 1:  # as fields does it; a generator takes longer
        tag, value = body[i], body[i + 1]
        i += 2
        if tag > 127 or value > 127:
            tag, i = _varint(body, i - 2, end)
            value, i = _varint(body, i, end)
        if tag & 7 == 2:
            if value > end - i:
                raise Malformed("a field that is longer than its message")
            part = body[i:i + value]
            i += value
            if tag == 50:
                due = read_instant(part, due)
            elif tag == 42:
                sent = read_instant(part, sent)
            elif tag == 58:
                payload = part
            elif tag == 34:
                channel = as_text(part)
            else:
                raise Malformed("a DeliveredMessage with an unknown field, or bytes in the place of a number")
        elif tag == 24:
            seq = value
        elif tag == 16:
            client = as_number(value, 2**32 - 1)
        elif tag != 8:
            raise Malformed("a DeliveredMessage with an unknown field, or a number in the place of bytes")
    if i < end:
        raise Malformed("a message that is cut off")
    return client, channel, seq, sent, due, payload


try:
    from . import _speed  # type: ignore[attr-defined]
except ImportError:
    SPEED = False  # the functions above do the same, slower
else:
    SPEED = True
    _speed.prepare(Malformed, Instant, ORIGIN, INFINITY)
    fields, frame, authorized, delivered = _speed.fields, _speed.frame, _speed.authorized, _speed.delivered
    instant, number, report, packet = _speed.instant, _speed.number, _speed.report, _speed.packet
