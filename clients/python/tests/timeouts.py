"""timeouts.py FIFO: a follower whose await returns again and again while the run stands still; after three times it opens the gate."""

import hashlib
import sys

import metasim
from metasim import follower


def main(pipe):
    every, frames, timeouts = hashlib.sha256(), 0, 0
    with metasim.Client() as c:
        n = follower.Node(c)
        c.join()
        n.join()
        while True:
            try:
                f = n.await_frame(0.001)
            except follower.QuitError:
                break
            except follower.FrameTimeoutError:
                timeouts += 1
                if timeouts == 3:
                    open(pipe, "w").close()
                continue
            frames += 1
            every.update(f.frame.to_bytes(8, "little") + bytes(n.receive_follower_data()))
        c.set_result({"frames": frames, "data_hash": every.hexdigest(), "timed_out": timeouts >= 3})


main(*sys.argv[1:])
