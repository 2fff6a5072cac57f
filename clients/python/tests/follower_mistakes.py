"""follower_mistakes.py controller|follower: a node that calls in each frame what it may not, and then what it is to. It leaves with the frames that it has shown, and
with what it was told in the first one."""

import array
import sys
import threading

import metasim
from metasim import follower

said = []


def mistake(call, *args):
    try:
        call(*args)
    except follower.FollowerError as e:
        said.append(f"{type(e).__name__} {e.rs_name} {e}")
    else:
        said.append("it was taken")


def elsewhere(call, *args):
    t = threading.Thread(target=mistake, args=(call, *args))
    t.start()
    t.join()


STATE = array.array("I", [1, 2, 3])  # like bytes, with elements of four


def main(role):
    frames, first = 0, []
    with metasim.Client() as c:
        n = follower.Node(c, role=role)
        c.join()
        n.join()
        mistake(n.join)
        for _ in n.frames():
            mistake(n.send_interaction_data, "text")
            mistake(n.send_frame, bytes(32), 5)
            if n.is_controller():
                mistake(n.send_follower_data, "text")
                mistake(n.send_follower_data, None)
                elsewhere(n.send_follower_data, b"late")
                n.send_follower_data(STATE)
            else:
                elsewhere(n.receive_follower_data)
                assert bytes(n.receive_follower_data()) == STATE.tobytes()
            n.send_frame()
            frames += 1
            first = first or said[:]
        c.set_result({"frames": frames, "said": first})


main(*sys.argv[1:])
