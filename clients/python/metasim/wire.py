"""The bytes of the protocol: packets as protobuf, without a library. Numbers of messages and fields are those of docs/protocol.md."""

from __future__ import annotations

import struct
from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple, Union

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


class Message(NamedTuple):
    """A message that the client was given."""

    sender: str
    channel: str
    seq: int  # counts the sender's sends, from 0
    sent: Instant
    due: Instant  # when it arrived: the instant at which the client sees it
    payload: memoryview


Buffer = Union[bytes, bytearray, memoryview]


class Malformed(Exception):
    """Bytes that are not the protocol."""


def at(time: int) -> Instant:
    return INFINITY if time >= FOREVER else Instant(time, 0)


# Writing.

_SHORT = [bytes([n]) for n in range(128)]
_TAGS = [bytes([n << 3 | 2]) for n in range(16)]
_FRONTS = [[bytes([10, n + 2, kind << 3 | 2, n]) for n in range(126)] for kind in range(16)]
"""How a packet begins, by its kind and the size of its body."""


def varint(n: int) -> bytes:
    if n < 128:
        return _SHORT[n]
    if n < 1 << 14:
        return bytes((n & 127 | 128, n >> 7))
    if n < 1 << 21:
        return bytes((n & 127 | 128, n >> 7 & 127 | 128, n >> 14))
    if n < 1 << 28:
        return bytes((n & 127 | 128, n >> 7 & 127 | 128, n >> 14 & 127 | 128, n >> 21))
    if n < 1 << 35:  # as a time, half a minute
        return bytes((n & 127 | 128, n >> 7 & 127 | 128, n >> 14 & 127 | 128, n >> 21 & 127 | 128, n >> 28))
    if n < 1 << 42:
        return bytes((n & 127 | 128, n >> 7 & 127 | 128, n >> 14 & 127 | 128, n >> 21 & 127 | 128, n >> 28 & 127 | 128, n >> 35))
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


_written: Tuple[Instant, bytes] = ORIGIN, b""
"""The last instant that was written: a send and the report behind it have the same."""


def _moment(i: Instant) -> bytes:
    """An instant as the value of a field, with its size; nothing at the origin."""
    global _written
    last = _written
    if last[0] is i:
        return last[1]
    time, step = i
    if time == FOREVER:
        value = b"\x02\x18\x01"
    elif step:
        value = number(1, time) + number(2, step)
        value = _SHORT[len(value)] + value
    elif time:
        value = varint(time)
        value = b"%c\x08%b" % (len(value) + 1, value)
    else:
        value = b""
    _written = i, value
    return value


def instant(field: int, i: Instant) -> bytes:
    value = _moment(i)
    return _TAGS[field] + value if value else b""


def packet(kind: int, body: bytes) -> bytes:
    """A packet of member 0, as an element of a frame."""
    if len(body) < 126:
        return _FRONTS[kind][len(body)] + body
    size = varint(len(body))
    return b"\n%b%b%b%b" % (varint(len(body) + len(size) + 1), _TAGS[kind], size, body)


def send(head: bytes, sent: Instant, payload: bytes) -> bytes:
    """The packet of a Send. head has its channel, as text(1, channel)."""
    value = _moment(sent)
    if not value:
        return packet(SEND, head + data(3, payload) if payload else head)
    if not payload:
        return packet(SEND, b"%b\x12%b" % (head, value))
    return packet(SEND, b"%b\x12%b\x1a%b%b" % (head, value, varint(len(payload)), payload))


def _report(now: Instant, floor: Instant, next_event: Instant, handled: int) -> bytes:
    """The report of a NotifyAdvance or a PollWait, as its field 1. One of zeros alone is left out."""
    value = _moment(now)
    if floor is now or floor == now:
        said = b"\n%b\x12%b" % (value, value) if value else b""
    else:
        said = instant(1, now) + instant(2, floor)
    said += b"\x1a\x02\x18\x01" if next_event is INFINITY else instant(3, next_event)
    if handled:
        said += b" " + varint(handled)
    return b"\n%c%b" % (len(said), said) if said else b""


def advance(now: Instant, floor: Instant, next_event: Instant, handled: int, computed: int) -> bytes:
    """The packet of a NotifyAdvance. computed is for how many nanoseconds the client has computed."""
    return packet(ADVANCE, _report(now, floor, next_event, handled) + number(2, computed))


def poll(now: Instant, floor: Instant, next_event: Instant, handled: int, want: Instant, messages: bool, computed: int, cpu: int) -> bytes:
    """The packet of a PollWait. messages says that the client waits for the next message, until want; cpu is its processor time."""
    body = _report(now, floor, next_event, handled) + (b"\x12\x02\x18\x01" if want is INFINITY else instant(2, want))
    if messages:
        body += b"\x18\x01"
    if computed:
        body += b"\x20" + varint(computed)
    if cpu:
        body += number(5, cpu)
    return packet(POLL_WAIT, body)


# Reading.

_size = struct.Struct("<I").unpack_from
_four, _six, _seven = (struct.Struct(f"{n}B").unpack_from for n in (4, 6, 7))
"""So many bytes as numbers, from a place on: one call is faster than an index for each."""

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


def _varint(b: Buffer, i: int, end: int) -> Tuple[int, int]:
    """Reads a number: it, and where it ends. Each byte but the last has 128 more than its seven bits, which are taken off at once."""
    if end - i > 6:
        n = b[i]
        if n < 128:
            return n, i + 1
        more = b[i + 1]
        n += more * 0x80 - 0x80
        if more < 128:
            return n, i + 2
        more = b[i + 2]
        n += more * 0x4000 - 0x4000
        if more < 128:
            return n, i + 3
        more = b[i + 3]
        n += more * 0x200000 - 0x200000
        if more < 128:
            return n, i + 4
        more = b[i + 4]
        n += more * 0x10000000 - 0x10000000
        if more < 128:
            return n, i + 5
        more = b[i + 5]
        n += more * 0x800000000 - 0x800000000
        if more < 128:
            return n, i + 6
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


_DELIVERED, _AUTHORIZE = DELIVERED << 3 | 2, AUTHORIZE << 3 | 2

Packet = Tuple[int, Union[memoryview, Message, Instant]]
"""A kind, and a body. What is right and comes most is read: a DeliveredMessage is a Message, and an AuthorizeAdvance the instant that it authorizes."""


def read(came: bytes, names: Dict[int, str], packets: List[Packet]) -> int:
    """Reads the packets of all frames that came whole, and returns where they end. names are those of the clients that were introduced before."""
    i, end = 0, len(came)
    while end - i >= 4:
        size, = _size(came, i)
        if not 0 < size <= MAX_FRAME:
            raise Malformed("a frame of 0 bytes, or of more than 64 MiB")
        last = i + 4 + size
        if last > end:
            break
        packets += _frame(came, i + 4, last, names)
        i = last
    return i


def _frame(b: bytes, i: int, end: int, names: Dict[int, str]) -> List[Packet]:
    packets: List[Packet] = []
    while i < end - 3:
        ten, size, tag, inner = _four(b, i)
        body, last = i + 4, i + 2 + size
        if size > 127:
            size, at = _varint(b, i + 1, end)
            last = at + size
            if size < 3 or last > end:
                break
            tag = b[at]
            inner, body = _varint(b, at + 1, last)
        if ten != 10 or tag & 0x87 != 2 or body + inner != last or last > end:
            break  # it may still be right, and is another one than most
        value: Union[memoryview, Message, Instant, None] = None
        try:
            if tag == _DELIVERED:
                value = _message(b, body, last, names)
            elif tag == _AUTHORIZE:
                value = _authorized(b, body, last)
        except _MISREAD:
            pass
        packets.append((tag >> 3, memoryview(b)[body:last] if value is None else value))
        i = last
    for field, packet in fields(memoryview(b)[i:end]) if i < end else ():
        if field != 1 or isinstance(packet, int):
            raise Malformed("a frame that cannot be read")
        parts = list(fields(packet))
        if len(parts) == 2 and parts[0] == (1, 0):
            del parts[0]
        if len(parts) != 1 or isinstance(parts[0][1], int):
            raise Malformed("a packet that cannot be read")
        packets.append((parts[0][0], parts[0][1]))
    return packets


_MISREAD = (IndexError, Malformed, UnicodeDecodeError)
"""What _message and _authorized fail with where they do not read a body. Who takes it reads it slowly, and says what is wrong."""


def _instant(b: bytes, i: int, end: int) -> Instant:
    """Reads the instant that the bytes from i to end are."""
    size = end - i
    if size == 6:
        tag, t, u, v, w, x = _six(b, i)
        if tag == 8 and t & u & v & w > 127 >= x:  # a time up to half a minute: see _varint
            return _new(Instant, (t + u * 0x80 + v * 0x4000 + w * 0x200000 + x * 0x10000000 - 0x10204080, 0))
    elif size == 7:
        tag, t, u, v, w, x, y = _seven(b, i)
        if tag == 8 and t & u & v & w & x > 127 >= y:  # up to an hour
            return _new(Instant, (t + u * 0x80 + v * 0x4000 + w * 0x200000 + x * 0x10000000 + y * 0x800000000 - 0x810204080, 0))
    if size > 127:
        raise Malformed("an instant of a size that is not in one byte")
    return read_instant(memoryview(b)[i:end])


def _message(b: bytes, i: int, end: int, names: Dict[int, str]) -> Optional[Message]:
    """Reads a DeliveredMessage of a client that has a name, if each of its fields comes at most once and they come in order."""
    client = seq = 0
    channel = ""
    sent = due = ORIGIN
    payload = end
    if b[i] == 8:  # which of the client's deliveries it is
        i = i + 2 if b[i + 1] < 128 else _varint(b, i + 1, end)[1]
    if b[i] == 16:
        client = b[i + 1]
        i += 2
        if client > 127:
            client, i = _varint(b, i - 1, end)
    if b[i] == 24:
        seq = b[i + 1]
        i += 2
        if seq > 127:
            seq, i = _varint(b, i - 1, end)
    if b[i] == 34:
        size = b[i + 1]
        i += 2
        if size > 127:
            size, i = _varint(b, i - 1, end)
            if size > MAX_NAME:
                return None
        begin, i = i, i + size
        channel = b[begin:i].decode()
    if b[i] == 42:
        at = i + 2
        i = at + b[i + 1]
        sent = _instant(b, at, i)
    if b[i] == 50:
        at = i + 2
        i = at + b[i + 1]
        due = _instant(b, at, i)
    if i < end and b[i] == 58:
        size, payload = b[i + 1], i + 2
        if size > 127:
            size, payload = _varint(b, i + 1, end)
        i = payload + size
    name = names.get(client)
    return _new(Message, (name, channel, seq, sent, due, memoryview(b)[payload:end])) if i == end and name is not None else None


def _authorized(b: bytes, i: int, end: int) -> Optional[Instant]:
    """Reads an AuthorizeAdvance: until when. What else it says is a hint for clients that keep their reports."""
    until = ORIGIN
    if i < end and b[i] == 10:
        at = i + 2
        i = at + b[i + 1]
        until = _instant(b, at, i)
    if b[i:end] == b"\x12\x02\x18\x01":  # infinity
        return until
    if i < end and b[i] == 18:
        at = i + 2
        i = at + b[i + 1]
        _instant(b, at, i)
    return until if i == end else None


def authorized(body: memoryview) -> Instant:
    """Reads an AuthorizeAdvance as slowly as it may be written."""
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
    """Reads a DeliveredMessage as slowly as it may be written: the number of its sender, channel, seq, sent, due and payload."""
    client = seq = 0
    channel = ""
    sent = due = ORIGIN
    payload = body[:0]
    for field, value in fields(body):
        if field == 1:
            as_number(value)
        elif field == 2:
            client = as_number(value, 2**32 - 1)
        elif field == 3:
            seq = as_number(value)
        elif field == 4:
            channel = as_text(value)
        elif field == 5:
            sent = read_instant(value, sent)
        elif field == 6:
            due = read_instant(value, due)
        elif field == 7:
            payload = as_bytes(value)
        else:
            raise Malformed("a DeliveredMessage with an unknown field")
    return client, channel, seq, sent, due, payload


try:
    from . import _speed  # type: ignore[attr-defined]
except ImportError:
    SPEED = False  # the functions above do the same, slower
else:
    SPEED = True
    _speed.prepare(Malformed, Instant, Message, ORIGIN, INFINITY)
    read, send, advance, poll, recv_soon = _speed.read, _speed.send, _speed.advance, _speed.poll, _speed.recv_soon
