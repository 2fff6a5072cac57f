"""speed.py FRAMES: gives the frames of a file, and damaged ones, to wire.py with its C extension and without; both must say the same.

A line has a frame of a server in hexadecimal, without its length. What each of both reads at once must also be what delivered and authorized read slowly.
"""

import importlib.util
import random
import socket
import sys

import metasim
from metasim import connection
from metasim import wire as fast

assert fast.SPEED, "the extension was not built"
sys.modules["metasim._speed"] = None  # importing it fails
del sys.modules["metasim"]._speed
slow = importlib.util.module_from_spec(fast.__spec__)
fast.__spec__.loader.exec_module(slow)
assert not slow.SPEED


NAMES = {0: "b", 1: "c", 300: "d"}


def slowly(kind, body):
    """What a body says, where it is right and its sender has a name."""
    try:
        if kind == fast.AUTHORIZE:
            return "instant", slow.authorized(body)
        client, *rest = slow.delivered(body)
        return ("message", NAMES[client], *rest) if client in NAMES else "nobody's"
    except slow.Malformed:
        return "malformed"


def attempt(wire, name, *arguments):
    if name != "read":
        return getattr(wire, name)(*arguments)
    packets = []
    try:
        end = wire.read(arguments[0], NAMES, packets)
    except wire.Malformed:
        end = "malformed"
    said = []
    for kind, body in packets:
        if body.__class__ is wire.Message:
            body = ("message", *body)
        elif body.__class__ is wire.Instant:
            body = "instant", body
        elif kind in (fast.AUTHORIZE, fast.DELIVERED):
            body = slowly(kind, body)
        said.append((kind, body))
    return end, said


def agree(name, *arguments):
    a, b = attempt(fast, name, *arguments), attempt(slow, name, *arguments)
    assert a == b, (name, arguments, a, b)
    return a


draws = random.Random(1)
client = metasim.Client("x", "unix:///x")
assert len(vars(client)) < 30 > len(vars(client._session)), "see Session"

numbers = [0, 1, 2, 127, 128, 300, 2**31, 2**32 - 1, 2**32, 2**63 - 2, 2**63 - 1, 2**64 - 1]
OVERLONG = [b"\xff" * 9 + b"\x01", b"\xff" * 9 + b"\x03", b"\x80\x00", b"\xff" * 10]


def made(number, value):
    """A field: a number, or the bytes of value."""
    if isinstance(value, bytes):
        return bytes([number << 3 | 2]) + slow.varint(len(value)) + value
    return bytes([number << 3]) + (draws.choice(OVERLONG) if draws.random() < 0.05 else slow.varint(value))


def moment():
    return b"".join(made(draws.choice((1, 1, 2, 3)), draws.choice(numbers[:8])) for _ in range(draws.randrange(3)))


def body():
    """Fields, most of which a server could send."""
    likely = {1: numbers, 2: numbers[:8], 3: numbers, 4: (b"X", b"", "\u00e9".encode(), b"\xff", bytes(1025))}
    fields = []
    for _ in range(draws.randrange(6)):
        number = draws.randrange(1, 8)
        if draws.random() < 0.03:
            fields.append(made(draws.randrange(1, 10), draws.choice((5, 2**32, b"abc", moment()))))
        else:
            fields.append(made(number, draws.choice(likely[number]) if number < 5 else moment() if number < 7 else draws.randbytes(9)))
    return b"".join(fields)


def framed(data):
    return len(data).to_bytes(4, "little") + data


good = 0
frames = [bytes.fromhex(line) for line in open(sys.argv[1])]
for n in range(10_000):
    bodies = [(draws.randrange(2, 17), body()) for _ in range(draws.randrange(1, 3))]
    bodies += [(fast.DELIVERED, body()), (fast.AUTHORIZE, b"".join(made(draws.choice((1, 1, 2)), moment()) for _ in range(draws.randrange(3))))]
    whole = b"".join(made(1, made(kind, inner)) for kind, inner in bodies)
    end, read = agree("read", framed(whole) + bytes(draws.randrange(5)))
    if end != "malformed":
        for (kind, inner), (_, said) in zip(bodies, read):
            if kind in (fast.AUTHORIZE, fast.DELIVERED):
                assert said == slowly(kind, memoryview(inner)), (kind, inner, said)
                good += said != "malformed"
    data = bytearray(draws.choice(frames) if n % 2 else whole)
    for _ in range(draws.randrange(3)):
        at = draws.randrange(len(data))
        data[at:at + draws.randrange(3)] = draws.randbytes(draws.randrange(3))
        data = data or bytearray(1)
    end, read = agree("read", framed(bytes(data)) + framed(draws.choice(frames))[:draws.choice((0, 3, 4, 9, 1000))])
    good += len(read)
assert 5000 < good < 60_000, good
numbers = numbers[:11]
instants = [fast.Instant(t, s) for t in numbers for s in numbers[:8]] + [fast.INFINITY]
for _ in range(5000):
    now, floor, following, n = draws.choice(instants), draws.choice(instants), draws.choice(instants), draws.choice(numbers)
    floor = draws.choice((now, floor))
    agree("advance", now, floor, following, n, draws.choice(numbers))
    agree("poll", now, floor, following, n, draws.choice(instants), draws.random() < 0.5, *draws.choice(((0, 0), (1, 0), (3000, 2**63))))
    agree("send", draws.choice((b"", slow.text(1, "X"), slow.text(1, "x" * 1024))), now, draws.randbytes(draws.choice((0, 1, 110, 111, 112, 113, 126, 127, 128, 20_000))))

# What comes soon, over a socket: nothing, as much as was asked for, the end, and an error.
ours, peer = socket.socketpair()
stream = connection.Socket(ours)


def soon(most):
    """What both read next, of what the peer has sent twice."""
    got = [read() for read in (lambda: fast.recv_soon(ours.fileno(), most, 1000), lambda: connection.recv_soon(stream, most, 1000))]
    assert got[0] == got[1], got
    return got[0]


assert soon(10) is None
peer.send(b"abab")
assert soon(2) == b"ab" and soon(2) is None
peer.close()
assert soon(10) == b""
ours.close()
try:
    fast.recv_soon(stream.socket.fileno(), 10, 1000)
    raise AssertionError("it read a socket that is closed")
except OSError:
    pass
