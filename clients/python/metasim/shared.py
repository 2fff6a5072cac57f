"""Shared memory of Linux: two rings of bytes, one each way, between this process and the server.

wire/transport/shm/shm.go of metasim describes the layout. The client makes the memory, and sends it over a unix socket. That socket
carries nothing more: its end says that the peer has closed, or died. The peer may store anything at any time, so this side keeps its
own index to itself, and uses the peer's for a distance alone.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import socket
import threading
import time
from typing import Optional

from .wire import Buffer, Malformed

RING = 256 << 10
HEADER = 4096
GREETING = b"metasim\0" + (1).to_bytes(4, "little") + RING.to_bytes(4, "little")

# Places of the words, in units of four bytes: what this side writes, and what it reads.
OUT_TAIL, OUT_HEAD, OUT_READER, OUT_WRITER = 0, 32, 64, 96
IN_TAIL, IN_HEAD, IN_READER, IN_WRITER = 128, 160, 192, 224

SLEEP = 20_000_000
"""Nanoseconds, after which a sleep ends unasked: then the client looks whether the peer is there."""

WAIT, WAKE = 0, 1
FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "ppc64le": 221}
"""The number of the system call, which Python does not know, where memory is little-endian."""


class _Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64)]


class Rings:
    """Both rings, as a stream."""

    def __init__(self, path: str) -> None:
        self._number = FUTEX.get(os.uname().machine) if hasattr(os, "memfd_create") else None
        if self._number is None:
            raise OSError(errno.EOPNOTSUPP, "this system has no shared memory of Linux; use unix://")
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(path)
            self._map = self._share()
        except OSError:
            self._socket.close()
            raise
        self._bytes = memoryview(self._map)
        self._words = self._bytes.cast("I")
        self._anchor = ctypes.c_char.from_buffer(self._map)  # holds the memory where it is
        self._address = ctypes.addressof(self._anchor)
        self._syscall = ctypes.CDLL(None).syscall
        self._patience = _Timespec(0, SLEEP)
        self._written = self._read = 0  # this side's indices, modulo 2^32
        self._barrier = threading.Lock()
        self._barrier.acquire()

    def _share(self) -> mmap.mmap:
        file = os.memfd_create("metasim", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(file, HEADER + 2 * RING)
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            memory = mmap.mmap(file, HEADER + 2 * RING)
            socket.send_fds(self._socket, [GREETING], [file])
        finally:
            os.close(file)
        if self._socket.recv(len(GREETING), socket.MSG_WAITALL) != GREETING:
            raise OSError(errno.EPROTO, "the server does not use shared memory of this layout; use the URL that it printed")
        return memory

    def _fence(self) -> None:
        """Lets what was stored before be seen before what is loaded after. Python has no such call; its locks do that. Where a lock does less, a
        wake-up is late by a sleep at most."""
        self._barrier.release()
        self._barrier.acquire()

    def _sleep(self, word: int) -> None:
        self._syscall(self._number, ctypes.c_void_p(self._address + 4 * word), WAIT, 1, ctypes.byref(self._patience), None, 0)

    def _rouse(self, word: int) -> None:
        """Wakes the peer if it sleeps on a word, or is about to."""
        self._fence()
        if self._words[word]:
            self._words[word] = 0
            self._syscall(self._number, ctypes.c_void_p(self._address + 4 * word), WAKE, 2**31 - 1, None, None, 0)

    def _gone(self) -> bool:
        try:
            self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            pass  # closed hard: it is gone as well
        return True

    def _used(self, tail: int, head: int) -> int:
        used = (tail - head) & 0xFFFFFFFF
        if used > RING:
            raise Malformed(f"a ring of shared memory with {used} bytes unread, of {RING}")
        return used

    def send(self, data: Buffer) -> int:
        """Writes as much as there is room for, and returns how much."""
        n = min(RING - self._used(self._written, self._words[OUT_HEAD]), len(data))
        if n == 0:
            return 0
        to = self._written & (RING - 1)
        first = min(n, RING - to)
        self._bytes[HEADER + to:HEADER + to + first] = data[:first]
        self._bytes[HEADER:HEADER + n - first] = data[first:n]
        self._written = (self._written + n) & 0xFFFFFFFF
        self._fence()
        self._words[OUT_TAIL] = self._written
        self._rouse(OUT_READER)
        return n

    def wait_to_write(self) -> bool:
        """Waits until more may be written, or has come. Returns whether something may have come."""
        self._words[OUT_WRITER] = 1
        self._fence()
        if self._used(self._written, self._words[OUT_HEAD]) == RING:
            self._sleep(OUT_WRITER)
        self._words[OUT_WRITER] = 0
        if self._gone():
            raise EOFError("the connection was closed")
        return True

    def _take(self, most: int) -> bytes:
        used = self._used(self._words[IN_TAIL], self._read)
        if used == 0:
            return b""
        self._fence()
        n, begin = min(used, most), self._read & (RING - 1)
        first = min(n, RING - begin)
        at = HEADER + RING
        got = bytes(self._bytes[at + begin:at + begin + first]) + bytes(self._bytes[at:at + n - first])
        self._read = (self._read + n) & 0xFFFFFFFF
        self._fence()
        self._words[IN_HEAD] = self._read
        if used - n <= RING // 2:  # a writer that waits is woken when half the ring is free
            self._rouse(IN_WRITER)
        return got

    def readable(self, deadline: float) -> bool:
        """Waits until something can be read, at most until a time of the machine's clock. Returns whether there is something, or the peer is gone."""
        while not self._used(self._words[IN_TAIL], self._read) and not self._gone():
            if time.monotonic() >= deadline:
                return False
            self._words[IN_READER] = 1
            self._fence()
            if not self._used(self._words[IN_TAIL], self._read):
                self._sleep(IN_READER)
            self._words[IN_READER] = 0
        return True

    def came(self) -> bool:
        """Returns whether there is something to read."""
        return bool(self._used(self._words[IN_TAIL], self._read))

    def recv(self, most: int) -> bytes:
        """Reads what has come, and waits for something; no byte at the end. What was written before the end is read first."""
        got = self._take(most)
        while not got:
            gone = self._gone()
            got = self._take(most)
            if got or gone:
                break
            self._words[IN_READER] = 1  # say that this side sleeps, look once more, and sleep
            self._fence()
            got = self._take(most)
            if not got:
                self._sleep(IN_READER)
            self._words[IN_READER] = 0
        return got

    def close(self) -> None:
        if self._socket.fileno() < 0:
            return
        self._socket.close()
        self._words.release()
        self._bytes.release()
        del self._anchor
        self._map.close()
