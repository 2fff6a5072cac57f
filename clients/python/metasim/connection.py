"""A stream to the server: unix sockets and TCP."""

from __future__ import annotations

import select
import socket
from typing import List, Tuple
from urllib.parse import unquote, urlsplit

from . import wire
from .errors import LostError, MistakeError
from .wire import Malformed

READ = 1 << 16


class Connection:
    """Frames out, messages in. It is written and read by one thread, so a write that has to wait reads meanwhile."""

    def __init__(self, url: str, client: str) -> None:
        u = urlsplit(url)
        try:
            if u.scheme == "unix" and u.path:
                self.socket = socket.socket(socket.AF_UNIX)
                self.socket.connect(unquote(u.path))
            elif u.scheme == "tcp" and u.hostname and u.port and not u.query:
                self.socket = socket.create_connection((u.hostname, u.port))
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            else:
                raise MistakeError(f'client "{client}": "{url}" is no server that this library reaches; use unix:///path or tcp://host:port, or set '
                                   "METASIM_SERVER")
        except OSError as e:
            raise LostError(f'client "{client}": nobody answers at {url}: {e.strerror or e}; start the server first') from e
        self.rest = b""
        self.messages: List[Tuple[int, memoryview]] = []

    def write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                left = left[self.socket.send(left, socket.MSG_DONTWAIT):]
            except BlockingIOError:
                readable, _, _ = select.select([self.socket], [self.socket], [])
                if readable:
                    self.read(wait=False)

    def read(self, wait: bool) -> None:
        """Reads what has come into messages, and waits for something if wait says so. The end of the stream is an EOFError."""
        try:
            got = self.socket.recv(READ, 0 if wait else socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        if not got:
            raise EOFError("the connection was closed")
        self.parse(self.rest + got if self.rest else got)

    def parse(self, came: bytes) -> None:
        view, i, end = memoryview(came), 0, len(came)
        while end - i >= 4:
            size = int.from_bytes(came[i:i + 4], "little")
            if size == 0 or size > wire.MAX_FRAME:
                raise Malformed("a frame of 0 bytes, or of more than 64 MiB")
            if end - i - 4 < size:
                if size > READ:
                    came, view = self.whole(came[i:], size + 4)
                    i, end = 0, len(came)
                    continue
                break
            i += 4
            self.frame(view[i:i + size])
            i += size
        self.rest = came[i:]

    def whole(self, begun: bytes, size: int) -> Tuple[bytes, memoryview]:
        """Reads a large frame to its end, without copying it again and again."""
        room = bytearray(size)
        view = memoryview(room)
        view[:len(begun)] = begun
        done = len(begun)
        while done < size:
            n = self.socket.recv_into(view[done:])
            if n == 0:
                raise EOFError("the connection was closed")
            done += n
        whole = bytes(room)
        return whole, memoryview(whole)

    def frame(self, frame: memoryview) -> None:
        for field, packet in wire.fields(frame):
            if field != 1 or isinstance(packet, int):
                raise Malformed("a frame that cannot be read")
            parts = list(wire.fields(packet))
            if len(parts) == 2 and parts[0] == (1, 0):
                del parts[0]
            if len(parts) != 1 or isinstance(parts[0][1], int):
                raise Malformed("a packet that cannot be read")
            self.messages.append(parts[0])  # type: ignore[arg-type]

    def close(self) -> None:
        self.socket.close()
