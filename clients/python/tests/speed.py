"""speed.py FRAMES: gives the frames of a file, and damaged ones, to wire.py with its C extension and without; both must say the same.

A line has a frame of a server in hexadecimal, without its length.
"""

import importlib
import random
import sys

from metasim import wire as fast

assert fast.SPEED, "the extension was not built"
sys.modules["metasim._speed"] = None  # importing it fails
del sys.modules["metasim"]._speed
slow = importlib.util.module_from_spec(fast.__spec__)
fast.__spec__.loader.exec_module(slow)
assert not slow.SPEED


def attempt(wire, name, *arguments):
    try:
        got = getattr(wire, name)(*arguments)
        return list(got) if name == "fields" else got
    except wire.Malformed:
        return "malformed"


def agree(name, *arguments):
    a, b = attempt(fast, name, *arguments), attempt(slow, name, *arguments)
    assert a == b, (name, [bytes(x) if isinstance(x, memoryview) else x for x in arguments], a, b)
    return a


draws = random.Random(1)
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


good = 0
frames = [bytes.fromhex(line) for line in open(sys.argv[1])]
for n in range(10_000):
    data = bytearray(draws.choice(frames) if n % 2 else b"".join(made(1, made(draws.randrange(2, 17), body())) for _ in range(draws.randrange(1, 3))))
    for _ in range(draws.randrange(3)):
        at = draws.randrange(len(data))
        data[at:at + draws.randrange(3)] = draws.randbytes(draws.randrange(3))
        data = data or bytearray(1)
    packets = agree("frame", memoryview(bytes(data)))
    for _, inner in packets if packets != "malformed" else ():
        agree("fields", inner)
        good += agree("delivered", inner) != "malformed"
    agree("delivered", memoryview(body()))
    authorize = memoryview(b"".join(made(draws.choice((1, 1, 2)), moment()) for _ in range(draws.randrange(3))))
    good += agree("authorized", authorize) != "malformed"
assert 5000 < good < 25_000, good
numbers = numbers[:11]
instants = [fast.Instant(t, s) for t in numbers for s in numbers[:8]] + [fast.INFINITY]
for _ in range(5000):
    now, floor, following, n = draws.choice(instants), draws.choice(instants), draws.choice(instants), draws.choice(numbers)
    agree("report", now, floor, following, n)
    agree("instant", draws.randrange(1, 7), now)
    agree("number", draws.randrange(1, 7), n)
    agree("packet", draws.randrange(2, 16), draws.randbytes(draws.choice((0, 1, 126, 127, 128, 20_000))))
