#!/usr/bin/env python3
"""Metasim clients, written from docs/protocol.md with nothing but the standard library, to show that the page is enough:

    client.py echo IN OUT          publishes on OUT each message that it hears on IN, at the instant at which it hears it
    client.py source OUT PERIOD    steps: publishes a count on OUT each PERIOD nanoseconds, as the built-in source
    client.py ping OUT IN ROUNDS   publishes a count on OUT, and the next one at each answer, as the built-in ping
    client.py fail REASON          fails at the start

They read METASIM_SERVER (unix://, tcp:// or tls://), METASIM_CLIENT and METASIM_TOKEN; and METASIM_CERT and METASIM_KEY, the files of a
certificate, where the server asks for one.
"""

import hashlib
import json
import os
import socket
import ssl
import struct
import sys
from urllib.parse import parse_qs, unquote, urlsplit

VERSION = 2
MAX_FRAME = 64 << 20

# The bodies of a Packet.
HELLO, WELCOME, START, GOODBYE, REFUSE = 2, 3, 4, 5, 6
SEND, ADVANCE, POLL_WAIT, LEAVE, DELIVERED, AUTHORIZE, INTRODUCE, FAILED = 7, 9, 10, 11, 12, 13, 14, 15

# Instants are pairs (time, step), so they compare as they should.
ORIGIN = (0, 0)
INFINITY = (2**63 - 1, 2**32 - 1)


# Writing.

def varint(n):
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, n):
    return varint(field << 3) + varint(n) if n else b""


def data(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def text(field, value):
    return data(field, value.encode()) if value else b""


def instant(field, at):
    if at == ORIGIN:
        return b""
    if at == INFINITY:
        return data(field, number(3, 1))
    return data(field, number(1, at[0]) + number(2, at[1]))


def packet(kind, body):
    return data(1, data(kind, body))  # member 0


# Reading.

def read_varint(b, i):
    n = shift = 0
    while True:
        n |= (b[i] & 0x7F) << shift
        i += 1
        if b[i - 1] < 0x80:
            return n, i
        shift += 7


def fields(b):
    """Yields (field, value): an int, or bytes."""
    i = 0
    while i < len(b):
        tag, i = read_varint(b, i)
        value, i = read_varint(b, i)
        if tag & 7 == 2:
            value, i = b[i:i + value], i + value
        elif tag & 7 != 0:
            raise ValueError("a field that is neither a number nor bytes")
        yield tag >> 3, value


def read_instant(b):
    f = dict(fields(b))
    return INFINITY if f.get(3) else (f.get(1, 0), f.get(2, 0))


def pinned(u):
    """Connects over TLS 1.3 to the server whose certificate the URL pins. The pin may be that of an authority: then METASIM_CA is its file."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    want = parse_qs(u.query)["sha256"][0]
    authority = os.environ.get("METASIM_CA")
    if authority:
        with open(authority) as f:
            if hashlib.sha256(ssl.PEM_cert_to_DER_cert(f.read())).hexdigest() != want:
                sys.exit("client.py: METASIM_CA is not the authority that the URL pins")
        context.load_verify_locations(authority)
    else:
        context.verify_mode = ssl.CERT_NONE  # the pin says more
    if "METASIM_CERT" in os.environ:
        context.load_cert_chain(os.environ["METASIM_CERT"], os.environ["METASIM_KEY"])
    raw = socket.create_connection((u.hostname, u.port))
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    inner = context.wrap_socket(raw)
    if not authority and hashlib.sha256(inner.getpeercert(binary_form=True)).hexdigest() != want:
        sys.exit("client.py: the server shows another certificate than the URL pins")
    return inner


class Connection:
    def __init__(self, url):
        u = urlsplit(url)
        if u.scheme == "unix":
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(unquote(u.path))
        elif u.scheme == "tcp":
            self.socket = socket.create_connection((u.hostname, u.port))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        elif u.scheme == "tls":
            self.socket = pinned(u)
        else:
            sys.exit(f"client.py: {url} is neither unix:// nor tcp:// nor tls://; use one of these")
        self.stream = self.socket.makefile("rb")

    def write(self, packets):
        """Sends packets as one frame, in one write."""
        if not packets:
            return
        self.socket.sendall(struct.pack("<I", len(packets)) + packets)

    def read(self):
        """Returns the (kind, body) of one frame's packets."""
        length = self.exactly(4)
        size = struct.unpack("<I", length)[0]
        if size > MAX_FRAME:
            sys.exit(f"client.py: a frame of {size} bytes")
        bodies = []
        for field, value in fields(self.exactly(size)):
            bodies += [(kind, body) for kind, body in fields(value) if kind != 1]
        return bodies

    def exactly(self, n):
        b = self.stream.read(n)
        if len(b) < n:
            sys.exit("client.py: the server went away")
        return b


class Client:
    def __init__(self, connection, publish=(), subscribe=()):
        self.connection, self.publish, self.subscribe = connection, publish, subscribe
        self.until = INFINITY  # the end of the run
        self.granted = ORIGIN  # exclusive
        self.now = ORIGIN
        self.names = {}  # of those who were introduced
        self.inbox = []
        self.handled = 0

    def publications(self):
        return list(self.publish)

    def join(self):
        hello = (number(1, VERSION) + text(2, os.environ["METASIM_CLIENT"]) + text(3, os.environ.get("METASIM_TOKEN", ""))
                 + b"".join(text(4, c) for c in self.publications()) + b"".join(text(5, s) for s in self.subscribe))
        self.connection.write(packet(HELLO, hello))
        self.wait_for(START)

    def send(self, channel, payload):
        return packet(SEND, text(1, channel) + instant(2, self.now) + data(3, payload))

    def wait(self, packets, want, messages, promise=ORIGIN):
        """Sends packets and a PollWait, and returns when it is answered."""
        report = instant(1, self.now) + instant(2, promise) + instant(3, want) + number(4, self.handled)
        self.connection.write(packets + packet(POLL_WAIT, data(1, report) + instant(2, want) + number(3, int(messages))))
        self.wait_for(AUTHORIZE)

    def leave(self, packets, result):
        leave = instant(1, self.now) + number(2, self.handled) + data(3, result.encode())
        self.connection.write(packets + packet(LEAVE, leave))
        self.wait_for(GOODBYE)

    def fail(self, reason):
        report = instant(1, self.now) + instant(2, self.now) + instant(3, self.now) + number(4, self.handled)
        self.connection.write(packet(ADVANCE, data(1, report)) + packet(FAILED, text(1, reason)))
        sys.exit("client.py: " + reason)

    def messages(self):
        """Yields the payloads of what was delivered and is authorized; now is the instant of each."""
        while self.inbox and self.inbox[0][0] < self.granted:
            self.now, payload = self.inbox.pop(0)
            self.handled += 1
            yield payload

    def wait_for(self, what):
        seen = False
        while not seen:
            for kind, body in self.connection.read():
                self.take(kind, body)
                seen = seen or kind == what

    def take(self, kind, body):
        f = dict(fields(body))
        if kind == START:
            self.until = read_instant(f.get(1, b""))
        elif kind == INTRODUCE:
            self.names[f.get(1, 0)] = f.get(2, b"").decode()
        elif kind == DELIVERED:
            if f.get(2, 0) not in self.names:
                sys.exit(f"client.py: a message from client {f.get(2, 0)}, who was not introduced")
            self.inbox.append((read_instant(f.get(6, b"")), f.get(7, b"")))
        elif kind == AUTHORIZE:
            self.granted = max(self.granted, read_instant(f.get(1, b"")))
        elif kind == REFUSE:
            sys.exit("client.py: refused: " + f.get(2, b"").decode())
        elif kind not in (WELCOME, GOODBYE):
            sys.exit(f"client.py: the server sent a message of kind {kind}")


class Echo(Client):
    def __init__(self, connection, source, target):
        super().__init__(connection, [target], [source])
        self.target = target

    def run(self):
        self.join()
        while self.granted < self.until:
            self.wait(self.handle(), INFINITY, True)
        self.leave(self.handle(), self.result())

    def handle(self):
        """Handles what was delivered and is authorized, and returns the packets that it causes."""
        return b"".join(self.send(self.target, payload) for payload in self.messages())

    def result(self):
        return json.dumps({"echoed": self.handled})


def echo(connection, source, target):
    Echo(connection, source, target).run()


def count(n):
    return struct.pack("<Q", n)


def source(connection, target, period):
    client = Client(connection, [target], [])
    client.join()
    sent = 0
    while True:
        packets = client.send(target, count(sent))
        sent += 1
        step = (client.now[0] + int(period), 0)
        if step >= client.granted:
            client.wait(packets, step, False, promise=step)
            packets = b""
        if step >= client.granted:  # it is authorized to the end of the run, and that comes first
            return client.leave(packets, json.dumps({"sent": sent}))
        client.connection.write(packets)
        client.now = step


def ping(connection, target, answers, rounds):
    client = Client(connection, [target], [answers])
    client.join()
    packets = client.send(target, count(0))
    while client.granted < client.until:
        client.wait(packets, INFINITY, True)
        packets = b""
        for _ in client.messages():
            if client.handled == int(rounds):
                return client.leave(packets, json.dumps({"rounds": client.handled}))
            packets += client.send(target, count(client.handled))
    client.leave(packets, json.dumps({"rounds": client.handled}))


def fail(connection, reason):
    client = Client(connection)
    client.join()
    client.fail(reason)


def main():
    kinds = {"echo": (echo, 2), "source": (source, 2), "ping": (ping, 3), "fail": (fail, 1)}
    run, words = kinds.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if run is None or len(sys.argv) != 2 + words:
        sys.exit(__doc__)
    run(Connection(os.environ["METASIM_SERVER"]), *sys.argv[2:])


if __name__ == "__main__":
    main()
