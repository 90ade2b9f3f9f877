"""What members of groups cost the embedded broker, from 10 to 10,000: CPU while all are idle and
send a heartbeat every 3 s, memory, and how long the one group takes to rebalance.

Each member has a connection of its own; all are driven by one loop that decodes little.

    python bench/broker_members.py [--members 10 100 1000 10000] [--seconds 9]
"""

from __future__ import annotations

import argparse
import selectors
import socket
import struct
import time

from broker_process import BrokerProcess, wall

from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.codec import encode

HEARTBEAT_S = 3.0


def subscription(number: int) -> bytes:
    """Another each time: who joins a stable group as before is answered at once, and no more."""
    return b"\0\1" + encode(
        m.ConsumerProtocolSubscription(topics=["t"], user_data=b"%d" % number), 1
    )


class Member:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.member_id = ""
        self.beat = b""
        self.data = b""


class Members:
    """`count` members of one group."""

    def __init__(self, broker: BrokerProcess, count: int) -> None:
        self._round = 0
        self._selector = selectors.DefaultSelector()
        self.members = [Member(broker.connect()) for _ in range(count)]
        for member in self.members:
            self._selector.register(member.sock, selectors.EVENT_READ, member)

    def exchange(self, requests: dict[Member, bytes]):
        """Send each its request; (member, answer) as they come."""
        for member, data in requests.items():
            member.sock.sendall(data)
        missing = len(requests)
        while missing:
            for key, _ in self._selector.select(60):
                member = key.data
                member.data += member.sock.recv(1 << 20)
                while len(member.data) >= 4:
                    (size,) = struct.unpack_from(">i", member.data)
                    if len(member.data) < 4 + size:
                        break
                    frame, member.data = member.data[4 : 4 + size], member.data[4 + size :]
                    missing -= 1
                    yield member, frame

    def _join(self, member: Member) -> bytes:
        protocol = m.JoinGroupRequest.JoinGroupRequestProtocol
        request = m.JoinGroupRequest(
            group_id="g",
            member_id=member.member_id,
            session_timeout_ms=300_000,
            rebalance_timeout_ms=300_000,
            protocol_type="consumer",
            protocols=[protocol(name="range", metadata=subscription(self._round))],
        )
        return frames.encode_request(request, 5, 1, "bench")

    def rebalance(self) -> float:
        """All join, and get a plan; seconds."""
        start = wall()
        self._round += 1
        leader, everybody, generation = None, [], -1
        again = {member: self._join(member) for member in self.members}
        while again:
            asked, again = again, {}
            for member, frame in self.exchange(asked):
                answer = frames.decode_response(m.JoinGroupResponse, 5, frame)
                member.member_id = answer.member_id
                if answer.error_code == 79:  # MEMBER_ID_REQUIRED
                    again[member] = self._join(member)
                    continue
                assert not answer.error_code, answer.error_code
                generation = answer.generation_id
                if answer.members:
                    leader, everybody = member, answer.members
        assert len(everybody) == len(self.members)
        requests = {}
        for member in self.members:
            plan = everybody if member is leader else []
            assignments = [
                m.SyncGroupRequest.SyncGroupRequestAssignment(
                    member_id=one.member_id, assignment=subscription(0)
                )
                for one in plan
            ]
            sync = m.SyncGroupRequest(
                group_id="g", generation_id=generation, member_id=member.member_id,
                assignments=assignments,
            )  # fmt: skip
            requests[member] = frames.encode_request(sync, 3, 1, "bench")
            beat = m.HeartbeatRequest(
                group_id="g", generation_id=generation, member_id=member.member_id
            )
            member.beat = frames.encode_request(beat, 3, 1, "bench")
        for _, frame in self.exchange(requests):
            assert not frames.decode_response(m.SyncGroupResponse, 3, frame).error_code
        return wall() - start

    def idle(self, broker: BrokerProcess, seconds: float) -> tuple[float, float]:
        """Share of a core that the broker uses while all send heartbeats, and how many of them a
        second: fewer than are due if the machine is too busy for both sides.
        """
        rest = list(self.members)
        gap = HEARTBEAT_S / len(rest)
        cpu, start = broker.cpu_s(), wall()
        due, number = start, 0
        while (now := wall()) - start < seconds:
            if now < due:
                time.sleep(min(due - now, 0.05))
                continue
            burst = {}
            while due <= now and len(burst) < len(rest):
                burst[rest[number % len(rest)]] = rest[number % len(rest)].beat
                number += 1
                due += gap
            for _, frame in self.exchange(burst):
                assert frame[-2:] == b"\0\0"
        took_s = wall() - start
        return (broker.cpu_s() - cpu) / took_s, number / took_s

    def close(self) -> None:
        self._selector.close()
        for member in self.members:
            member.sock.close()


def measure(counts: list[int], seconds: float, delay_ms: int = 3_000) -> list[dict]:
    results = []
    for count in counts:
        with BrokerProcess(delay_ms=delay_ms) as broker:
            before = broker.memory_mb()
            members = Members(broker, count)
            cpu = broker.cpu_s()
            first = members.rebalance()
            joined = broker.cpu_s() - cpu
            cpu = broker.cpu_s()
            again = members.rebalance()
            again_cpu = broker.cpu_s() - cpu
            idle_core, beats_s = members.idle(broker, seconds)
            result = {
                "members": count,
                "join_s": first,
                "join_cpu_s": joined,
                "rebalance_s": again,
                "rebalance_cpu_s": again_cpu,
                "idle_core": idle_core,
                "beats_s": beats_s,
                "memory_mb": broker.memory_mb() - before,
            }
            members.close()
        results.append(result)
        print(
            f"{count:6} members: {100 * result['idle_core']:5.1f} % of a core idle"
            f" ({result['beats_s']:,.0f} heartbeats/s),"
            f" {result['memory_mb']:6.1f} MB, joined in {result['join_s']:.2f} s"
            f" ({result['join_cpu_s']:.2f} CPU s), rebalanced in {result['rebalance_s']:.2f} s"
            f" ({result['rebalance_cpu_s']:.2f} CPU s)",
            flush=True,
        )
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, nargs="+", default=[10, 100, 1_000, 10_000])
    parser.add_argument("--seconds", type=float, default=9.0)
    asked = parser.parse_args()
    measure(asked.members, asked.seconds)
