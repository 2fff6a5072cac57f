"""pingpong.py OUT IN ROUNDS: publishes on OUT, and again at each answer on IN, and says how long a round trip takes."""

import sys
import time

import metasim

said, heard, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
with metasim.Client() as c:
    out = c.publication(said)
    c.subscribe(heard)
    c.join()
    wall, cpu = time.monotonic(), time.process_time()
    message, answers = bytes(64), 0
    out.publish(message)
    for _ in c.messages():
        answers += 1
        if answers == rounds:
            break
        out.publish(message)
    print(f"{(time.monotonic() - wall) / rounds * 1e6:.3f} us wall {(time.process_time() - cpu) / rounds * 1e6:.3f} us cpu")
