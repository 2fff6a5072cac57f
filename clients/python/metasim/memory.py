"""What a client remembers in case its server is lost."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Deque, Optional, Tuple

from .wire import ORIGIN, Instant

if TYPE_CHECKING:
    from .wire import Message

KEPT_SENDS = 1 << 16
KEPT_BYTES = 64 << 20  # of the payloads of sends
KEPT_DELIVERIES = 1 << 16


class Memory:
    """What a client remembers in case its server is lost, and how far it has come back.

    When it comes back it says how much it has sent and handled, and the server says how much of that its journal has. What the journal lacks the client
    sends again, as one that steps from one of its sends to the next and then to where it is: the resumed server may be behind, and authorizes each of these
    sends again. What it is given again it has handled: it compares hashes, and drops it. What it was given and had not handled it forgets, and is given
    again.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience  # for how many nanoseconds of real time it waits for its server
        # The last ones. The last value: sent after the client had waited, so that it needs an authorization.
        self.sends: Deque[Tuple[str, Instant, bytes, bool]] = deque()
        self.waited = False  # the client has waited once
        self.sent = self.size = 0  # how many there were in all; bytes of the payloads in sends
        self.handled: Deque[int] = deque(maxlen=KEPT_DELIVERIES)  # hashes of the last deliveries
        self.due = ORIGIN  # of the last delivery that was handled
        # While it comes back.
        self.coming = False
        self.known_sent = self.known_delivered = 0  # what the server has of it
        self.known_now = self.known_floor = ORIGIN
        self.next = self.skip = 0  # the send that is to be sent again next; how many deliveries that it has handled are to come again
        self.clock = ORIGIN  # of the last that was sent again
        self.asked: Optional[Instant] = None

    def published(self, channel: str, sent: Instant, payload: bytes) -> None:
        self.sends.append((channel, sent, payload, self.waited))
        self.sent += 1
        self.size += len(payload)
        while len(self.sends) > KEPT_SENDS or self.size > KEPT_BYTES and len(self.sends) > 1:
            self.size -= len(self.sends.popleft()[2])

    def took(self, m: Message) -> None:
        self.handled.append(hash(m))
        if m.due > self.due:
            self.due = m.due
