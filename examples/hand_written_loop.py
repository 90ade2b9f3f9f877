"""A bare core in a hand-written loop: sockets and select(2). docs/BOUNDARY.md has the rules."""

import argparse
import random
import select
import socket
import time

from kcore import ConsumerConfig, ConsumerCore
from kcore.actions import Connect, Send
from kcore.events import Closed


def now_ms():
    return time.monotonic_ns() // 1_000_000


class Loop:
    def __init__(self, core):
        self.core, self.socks = core, {}  # link -> socket
        self.opening = {}  # link -> whether its name has more addresses
        self.failed = []  # inputs found while obeying: (link, why)

    def turn(self, timeout_ms):  # obey, wait until something happens, tell the core
        self.obey()
        wait_ms = max(0, min(timeout_ms, self.core.deadline() - now_ms()))
        opening = [self.socks[link] for link in self.opening]
        ready = select.select(self.socks.values(), opening, [], wait_ms / 1000)
        for link, sock in list(self.socks.items()):
            if (sock in ready[0] or sock in ready[1]) and link in self.socks:
                self.serve(link, sock)
                self.obey()
        self.core.handle_deadline(now_ms())  # harmless when it has not come
        self.obey()

    def serve(self, link, sock):
        try:
            if link in self.opening:
                sock.getpeername()  # or it says that there is none
                sock.settimeout(5)  # ends a send that the kernel takes nothing of
                del self.opening[link]
                self.core.handle_connected(link, now_ms())
            elif count := sock.recv_into(self.core.receive_buffer(link)):
                self.core.receive_advance(link, count, now_ms())
            else:
                self.failed.append((link, "closed by the peer"))
        except OSError as error:
            self.failed.append((link, str(error)))

    def obey(self):
        while (action := self.core.next_action()) is not None:
            try:
                if isinstance(action, Connect):
                    found = socket.getaddrinfo(action.host, action.port, type=socket.SOCK_STREAM)
                    family, kind, _, _, address = found[action.address_index % len(found)]
                    self.opening[action.link] = action.address_index + 1 < len(found)
                    self.socks[action.link] = sock = socket.socket(family, kind)
                    sock.setblocking(False)
                    sock.connect_ex(address)
                elif isinstance(action, Send) and action.link in self.socks:
                    self.socks[action.link].sendall(action.data)
                else:
                    self.forget(action.link)
            except OSError as error:
                self.failed.append((action.link, str(error)))
        if self.failed:  # one input, drain to empty, next input
            link, why = self.failed.pop(0)
            self.core.handle_closed(link, why, now_ms(), more_addresses=self.forget(link))
            self.obey()

    def forget(self, link):
        if link in self.socks:
            self.socks.pop(link).close()
        return self.opening.pop(link, False)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("bootstrap", "topic", "group", "max"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args(argv)
    options = {"bootstrap_servers": args.bootstrap, "group_id": args.group}
    config = ConsumerConfig.from_options({**options, "auto_offset_reset": "earliest"})
    core = ConsumerCore(config, random.SystemRandom(), now_ms())
    loop, left = Loop(core), int(args.max)
    core.subscribe([args.topic], now_ms())
    while left:
        core.poll(now_ms())  # alive, and done with all records taken before
        loop.turn(0 if core.has_records else 1000)
        for tp, records in core.take_records(left, now_ms()).items():
            left -= len(records)
            print(*((*tp, record.offset, record.key, record.value) for record in records), sep="\n")
    core.close(now_ms(), timeout_ms=5000)
    while not isinstance(core.next_event(), Closed):
        loop.turn(10)


if __name__ == "__main__":
    main()
