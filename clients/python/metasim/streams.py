"""Random streams, the same in every language: docs/protocol.md of metasim, section 6."""

from __future__ import annotations

import hashlib
import random
from typing import Any, Optional

MASK = 2**64 - 1
TIMES, PLUS = 0x2360ED051FC65DA44385DF649FCCF645, 0x5851F42D4C957F2D14057B7EF767814F  # PCG-DXSM with 128 bits


class Stream(random.Random):
    """A generator that is keyed by the seed of the run, the name of the client and a name of its own.

    It has all methods of random.Random. bits and random give the same in every language; what the others make of them is Python's.
    """

    def __init__(self, seed: int, client: str, stream: str) -> None:
        key = b"metasim/random" + seed.to_bytes(8, "little")
        for name in (client.encode(), stream.encode()):
            key += len(name).to_bytes(8, "little") + name
        key = hashlib.sha256(key).digest()
        self._state = int.from_bytes(key[:8], "little") << 64 | int.from_bytes(key[8:16], "little")
        super().__init__()

    def bits(self) -> int:
        """Draws 64 bits."""
        self._state = (self._state * TIMES + PLUS) & (2**128 - 1)
        hi, lo = self._state >> 64, self._state & MASK
        hi = (hi ^ hi >> 32) * 0xDA942042E4DD58B5 & MASK
        return (hi ^ hi >> 48) * (lo | 1) & MASK

    def random(self) -> float:
        """Draws a number from 0 to below 1."""
        return (self.bits() & (2**53 - 1)) / 2**53

    def getrandbits(self, k: int) -> int:
        """Draws k bits."""
        value = 0
        for shift in range(0, k, 64):
            value |= self.bits() << shift
        return value & ((1 << k) - 1)

    def seed(self, a: Any = None, version: int = 2) -> None:
        """Does nothing: the run has the seed."""
        self.gauss_next: Optional[float] = None

    def getstate(self) -> Any:
        """Returns where the stream is, for setstate."""
        return self._state, self.gauss_next

    def setstate(self, state: Any) -> None:
        """Puts the stream back to where it was."""
        self._state, self.gauss_next = state
