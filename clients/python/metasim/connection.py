"""A stream to the server: unix sockets, TCP, shared memory."""

from __future__ import annotations

import errno
import os
import select
import socket
import time
from functools import partial
from typing import Callable, Dict, List, Optional, Union
from urllib.parse import unquote, urlsplit

from . import wire
from .errors import LostError, MistakeError
from .shared import Rings
from .wire import FOREVER, Buffer, Malformed, Packet

READ = 1 << 16
AT_ONCE = int(socket.MSG_DONTWAIT)

POLL_LIMIT = 200_000
"""Nanoseconds for which a read polls before it sleeps: what a sleep costs where processors go idle, on a virtual machine."""

STOLEN = 5 * POLL_LIMIT
"""Nanoseconds that a poll takes where a yield gave the processor to somebody who computes: a sleeper would have had it back sooner."""

LATE_VAIN, STOLEN_VAIN = 2, 4
"""For how many polls that pay one in vain counts: it costs more than they save."""

MOST_VAIN = 10
"""The count from which on one read in 2**MOST_VAIN polls."""


class Socket:
    """A socket, as a stream."""

    def __init__(self, made: socket.socket) -> None:
        self.socket = made
        looks = select.poll()
        looks.register(made, select.POLLIN)
        self.came = partial(looks.poll, 0)  # whether there is something to read, or the end: it takes a fourth of a recv that fails
        self.recv = made.recv  # reads at most so many bytes, and waits for the first one; no byte is the end

    def send(self, data: Buffer) -> int:
        """Writes as much as there is room for, and returns how much."""
        try:
            return self.socket.send(data, AT_ONCE)
        except BlockingIOError:
            return 0

    def readable(self, deadline: float) -> bool:
        """Waits until something can be read, at most until a time of the machine's clock. Returns whether there is something."""
        ready, _, _ = select.select([self.socket], [], [], max(0.0, deadline - time.monotonic()))
        return bool(ready)

    def wait_to_write(self) -> bool:
        """Waits until more may be written, or has come. Returns whether something may have come."""
        readable, _, _ = select.select([self.socket], [self.socket], [])
        return bool(readable)

    def close(self) -> None:
        self.socket.close()


def recv_soon(stream: Union[Socket, Rings], most: int, limit: int) -> Optional[bytes]:
    """Reads what comes within so many nanoseconds: None for nothing."""
    end = time.monotonic_ns() + limit
    while not stream.came():
        if time.monotonic_ns() > end:
            return None
        os.sched_yield()  # the server may need this very processor
    return stream.recv(most)


class Poller:
    """Polls before a read sleeps, for as long as a sleep and its wake-up cost: the server of a lock step answers sooner. One that takes longer is
    soon polled only now and then."""

    def __init__(self, stream: Union[Socket, Rings]) -> None:
        self.recv_soon: Callable[[int, int], Optional[bytes]] = partial(recv_soon, stream)
        if wire.SPEED and isinstance(stream, Socket):
            self.recv_soon = partial(wire.recv_soon, stream.socket.fileno())
        self.vain = 0  # the count of polls in vain, less those that paid
        self.sleeps = 0 if hasattr(os, "sched_yield") else FOREVER  # reads from now on that do not poll

    def recv(self) -> Optional[bytes]:
        """Reads what comes soon: None for nothing."""
        if self.sleeps > 0:
            self.sleeps -= 1
            return None
        begun = time.monotonic_ns()
        got = self.recv_soon(READ, POLL_LIMIT)
        took = time.monotonic_ns() - begun
        if took > POLL_LIMIT:
            self.vain = min(self.vain + (STOLEN_VAIN if took >= STOLEN else LATE_VAIN), MOST_VAIN)
        elif self.vain:
            self.vain -= 1
        self.sleeps = (1 << self.vain) - 2
        return got


def connect(url: str, client: str) -> Union[Socket, Rings]:
    u = urlsplit(url)
    try:
        if u.scheme == "unix" and u.path:
            made = socket.socket(socket.AF_UNIX)
            made.connect(unquote(u.path))
            return Socket(made)
        if u.scheme == "shm" and u.path:
            return Rings(unquote(u.path))
        if u.scheme == "tcp" and u.hostname and u.port and not u.query:
            made = socket.create_connection((u.hostname, u.port))
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return Socket(made)
    except OSError as e:
        if e.errno in (errno.EOPNOTSUPP, errno.EPROTO):
            raise LostError(f'client "{client}": {url}: {e.strerror}') from e
        raise LostError(f'client "{client}": nobody answers at {url}: {e.strerror or e}; start the server first') from e
    raise MistakeError(f'client "{client}": "{url}" is no server that this library reaches; use unix:///path, tcp://host:port or shm:///path, or set '
                       "METASIM_SERVER; for tls and quic start metasim relay, and use its address")


class Connection:
    """Frames out, messages in. It is written and read by one thread, so a write that has to wait reads meanwhile."""

    def __init__(self, url: str, client: str, names: Dict[int, str]) -> None:
        self.stream = connect(url, client)
        self.poller = Poller(self.stream)
        self.rest = b""
        self.packets: List[Packet] = []  # that were read
        self.names = names  # of clients, as they are introduced

    def write(self, data: bytes) -> None:
        n = self.stream.send(data)
        if n == len(data):
            return  # as nearly always
        left = memoryview(data)[n:]
        if n == 0 and self.stream.wait_to_write():
            self.read(wait=False)
        while left:
            n = self.stream.send(left)
            left = left[n:]
            if n == 0 and self.stream.wait_to_write():
                self.read(wait=False)

    def read(self, wait: bool, deadline: Optional[float] = None) -> None:
        """Reads what has come into packets, and waits for something if wait says so, at most until deadline. The end of the stream is an EOFError."""
        if wait:
            if self.packets:
                return  # a write has read them
            got = self.poller.recv()
            if got is None:
                if deadline is not None and not self.stream.readable(deadline):
                    return
                got = self.stream.recv(READ)
        elif self.stream.came():
            got = self.stream.recv(READ)
        else:
            return
        if not got:
            raise EOFError("the connection was closed")
        if self.rest:
            got = self.rest + got
        done = wire.read(got, self.names, self.packets)
        self.rest = got[done:]
        if len(self.rest) >= 4 and (size := int.from_bytes(self.rest[:4], "little")) > READ:
            whole, self.rest = self.whole(self.rest, size + 4), b""
            wire.read(whole, self.names, self.packets)

    def whole(self, begun: bytes, size: int) -> bytes:
        """Reads a large frame to its end, without copying it again and again."""
        room = bytearray(size)
        view = memoryview(room)
        view[:len(begun)] = begun
        done = len(begun)
        while done < size:
            got = self.stream.recv(min(size - done, 1 << 20))
            if not got:
                raise EOFError("the connection was closed")
            view[done:done + len(got)] = got
            done += len(got)
        return bytes(room)

    def close(self) -> None:
        self.stream.close()
