"""Take part in a run of metasim, in pure Python.

One Client is one simulator of the run. It declares what it sends and hears, joins, and then advances through simulated time: in
steps of its own, from message to message, or by handlers and timers.

    import metasim

    with metasim.Client() as c:               # the environment says where the server is
        out = c.publication("ANGLE")
        c.subscribe("FORCE")
        c.join()
        for t, messages in c.steps(1_000_000):    # a step each millisecond, until the run ends
            for m in messages:
                act(m.payload)
            out.publish(angle())

Times are whole nanoseconds of simulated time since the start of the run. Leaving the with block leaves the run; an exception that
leaves it makes the client fail, with the exception as the reason. docs/protocol.md of metasim has the rules that are kept here.
"""

from .client import Client, Publication, Timer
from .errors import (CallRefusedError, CompleteError, EndError, Error, LeftError, LimitError, LostError, MistakeError, PromiseRegressError, ProtocolError, RefusedError,
                     SendBeforePromiseError, TimedOutError, TimeRegressError)
from .services import Caller, Pending, Request
from .streams import Stream
from .wire import FOREVER, Instant, Message

__all__ = ["CallRefusedError", "Caller", "Client", "CompleteError", "EndError", "Error", "FOREVER", "Instant", "LeftError", "LimitError", "LostError",
           "Message", "MistakeError", "Pending", "PromiseRegressError", "ProtocolError", "Publication", "RefusedError", "Request", "SendBeforePromiseError", "Stream", "TimedOutError", "TimeRegressError", "Timer"]
