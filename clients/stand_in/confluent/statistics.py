"""What stats_cb is given: JSON of librdkafka's shape (its STATISTICS.md), of what is measured here.

All fields that programs are known to read are there; what has no counterpart is 0, or -1 where it
would be there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from kcore.clients.stand_in.confluent import constants
from kcore.clients.stand_in.confluent.options import Configuration
from kcore.limits import MAX_INT32

Address = Callable[[int], str]  # of a node by its number


def _count(group: Mapping[str, Any], name: str) -> int:
    return int(group.get(name, 0))


def _window(group: Mapping[str, Any], name: str) -> dict[str, int]:
    """What librdkafka has of a duration, µs, as far as an average and a maximum tell it."""
    average, highest = group.get(f"{name}-avg", 0), group.get(f"{name}-max", 0)
    found = {key: int(average * 1000) for key in ("avg", "p50", "min")}
    found |= {key: int(highest * 1000) for key in ("max", "p75", "p90", "p95", "p99", "p99_99")}
    return {**found, "cnt": _count(group, "request-total"), "sum": 0, "stddev": 0, "outofrange": 0}


def _common(
    kind: str,
    conf: Configuration,
    groups: Mapping[str, Any],
    address: Address,
    began_at: float,
    measured: str = "",
) -> dict[str, Any]:
    """measured: the word that groups of metrics begin with, if it is another."""
    name, now = str(conf.get("client.id", "rdkafka")), time.time()
    measured = measured or kind
    totals = groups.get(f"{measured}-metrics", {})
    return {
        "name": f"{name}#{kind}-1",
        "client_id": name,
        "type": kind,
        "ts": int((now - began_at) * 1_000_000),
        "time": int(now),
        "age": int((now - began_at) * 1_000_000),
        "replyq": 0,
        "msg_cnt": 0,
        "msg_size": 0,
        "msg_max": 0,
        "msg_size_max": 0,
        "simple_cnt": 0,
        "metadata_cache_cnt": 0,
        "tx": _count(totals, "request-total"),
        "tx_bytes": _count(totals, "outgoing-byte-total"),
        "rx": _count(totals, "response-total") or _count(totals, "request-total"),
        "rx_bytes": _count(totals, "incoming-byte-total"),
        "txmsgs": 0,
        "txmsg_bytes": 0,
        "rxmsgs": 0,
        "rxmsg_bytes": 0,
        "brokers": _brokers(measured, groups, address),
        "topics": {},
    }


def _brokers(kind: str, groups: Mapping[str, Any], address: Address) -> dict[str, Any]:
    """By librdkafka's names: host:port/id, host:port/bootstrap, GroupCoordinator."""
    found: dict[str, Any] = {}
    mark = f"{kind}-node-metrics.node-"
    for group, values in groups.items():
        if not group.startswith(mark):
            continue
        number = int(group.removeprefix(mark))
        place = address(number)
        if number < 0:
            name, source = f"{place}/bootstrap", "configured"
        elif number > MAX_INT32 // 2:
            name, source = "GroupCoordinator", "logical"
        else:
            name, source = f"{place}/{number}", "learned"
        found[name] = {
            "name": name,
            "nodeid": number if source == "learned" else -1,
            "nodename": place,
            "source": source,
            "state": "UP",
            "stateage": 0,
            "outbuf_cnt": 0,
            "outbuf_msg_cnt": 0,
            "waitresp_cnt": 0,
            "waitresp_msg_cnt": 0,
            "tx": _count(values, "request-total"),
            "txbytes": _count(values, "outgoing-byte-total"),
            "txerrs": 0,
            "txretries": 0,
            "req_timeouts": 0,
            "rx": _count(values, "response-total") or _count(values, "request-total"),
            "rxbytes": _count(values, "incoming-byte-total"),
            "rxerrs": 0,
            "connects": 1,
            "disconnects": 0,
            "int_latency": _window({}, ""),
            "outbuf_latency": _window({}, ""),
            "rtt": _window(values, "request-latency"),
            "throttle": _window({}, ""),
            "toppars": {},
        }
    # One that was learned takes the place of what it was configured as.
    learned = {one["nodename"] for one in found.values() if one["source"] == "learned"}
    return {
        name: one
        for name, one in found.items()
        if one["source"] != "configured" or one["nodename"] not in learned
    }


def of_consumer(reader: Any, conf: Configuration) -> str:
    """A consumer's."""
    groups = reader.metrics()
    told = _common("consumer", conf, groups, reader.core.address, reader.began_at)
    fetched = groups.get("consumer-fetch-manager-metrics", {})
    told["rxmsgs"] = _count(fetched, "records-consumed-total")
    told["rxmsg_bytes"] = _count(fetched, "bytes-consumed-total")
    member = reader.group_metadata()
    coordinator = groups.get("consumer-coordinator-metrics", {})
    assignment = sorted(reader.assignment())
    told["cgrp"] = {
        "state": "up" if member.member_id else "init",
        "stateage": 0,
        "join_state": "steady" if member.generation_id >= 0 else "init",
        "rebalance_age": int(max(coordinator.get("last-rebalance-seconds-ago", 0), 0) * 1000),
        "rebalance_cnt": _count(coordinator, "rebalance-total"),
        "rebalance_reason": "",
        "assignment_size": len(assignment),
    }
    for place in assignment:
        topic = told["topics"].setdefault(
            place.topic, {"topic": place.topic, "age": 0, "metadata_age": 0, "partitions": {}}
        )
        topic["partitions"][str(place.partition)] = _partition(reader, place)
    return json.dumps(told)


def _partition(reader: Any, place: Any) -> dict[str, Any]:
    first, end = reader.edges(place)
    stable, at = reader.core.last_stable_offset(place), reader.core.position(place)
    at = constants.OFFSET_INVALID if at is None else at
    stable = constants.OFFSET_INVALID if stable is None else stable
    lag = max(end - at, 0) if end >= 0 and at >= 0 else -1
    return {
        "partition": place.partition,
        "broker": -1,
        "leader": -1,
        "desired": True,
        "unknown": False,
        "msgq_cnt": 0,
        "msgq_bytes": 0,
        "xmit_msgq_cnt": 0,
        "xmit_msgq_bytes": 0,
        "fetchq_cnt": 0,
        "fetchq_size": 0,
        "fetch_state": "active",
        "query_offset": constants.OFFSET_INVALID,
        "next_offset": at,
        "app_offset": at,
        "stored_offset": at,
        "committed_offset": constants.OFFSET_INVALID,
        "eof_offset": constants.OFFSET_INVALID,
        "lo_offset": first,
        "hi_offset": end,
        "ls_offset": stable,
        "consumer_lag": lag,
        "consumer_lag_stored": lag,
        "txmsgs": 0,
        "txbytes": 0,
        "rxmsgs": 0,
        "rxbytes": 0,
        "msgs": 0,
        "rx_ver_drops": 0,
    }


def of_admin_client(desk: Any, conf: Configuration, began_at: float) -> str:
    """An AdminClient's, which counts as a producer there."""
    groups, address = desk.metrics(), desk.address
    return json.dumps(_common("producer", conf, groups, address, began_at, "admin-client"))


def of_producer(writer: Any, conf: Configuration, queued: tuple[int, int], began_at: float) -> str:
    """A producer's. queued: messages that are not delivered, and their bytes."""
    groups = writer.metrics()
    told = _common("producer", conf, groups, writer.address, began_at)
    sent = groups.get("producer-metrics", {})
    told["msg_cnt"], told["msg_size"] = queued
    told["msg_max"] = conf.get("queue.buffering.max.messages", 100_000)
    told["msg_size_max"] = conf.get("queue.buffering.max.kbytes", 1_048_576) * 1024
    told["txmsgs"] = _count(sent, "record-send-total")
    told["txmsg_bytes"] = _count(sent, "byte-total")
    mark = "producer-topic-metrics."
    for group, values in groups.items():
        if group.startswith(mark):
            name = group.removeprefix(mark)
            told["topics"][name] = {
                "topic": name,
                "age": 0,
                "metadata_age": 0,
                "batchsize": _window({}, ""),
                "batchcnt": _window({}, ""),
                "partitions": {},
                "txmsgs": _count(values, "record-send-total"),
                "txbytes": _count(values, "byte-total"),
            }
    return json.dumps(told)
