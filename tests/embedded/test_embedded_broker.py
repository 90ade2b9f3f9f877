"""EmbeddedBroker itself: life, time, hostile sockets."""

import os
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from unittest.mock import Mock

import confluent_kafka
import pytest
from click.testing import CliRunner
from descriptors import descriptors, wait_for_descriptors

import kcore
from kcore.admin import ConfigResource
from kcore.broker import RefusedError
from kcore.cli import commands
from kcore.embedded import EmbeddedBroker
from kcore.errors import MessageSizeTooLargeError, UsageError
from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey


def connect(broker):
    host, port = broker.addresses[0].split(":")
    sock = socket.create_connection((host, int(port)), timeout=10)
    sock.settimeout(10)
    return sock


def exactly(sock, size):
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise ConnectionResetError
        data += more
    return data


def ask(sock, message, version):
    sock.sendall(frames.encode_request(message, version, 1, "test"))
    (size,) = struct.unpack(">i", exactly(sock, 4))
    cls = getattr(m, type(message).__name__.replace("Request", "Response"))
    return frames.decode_response(cls, version, exactly(sock, size))


def test_it_begins_and_ends_with_the_block():
    with EmbeddedBroker() as broker:
        sock = connect(broker)
        assert ask(sock, m.MetadataRequest(topics=[]), 9).brokers[0].port
        address = broker.addresses[0]
    assert sock.recv(1) == b""
    sock.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address.split(":"), timeout=1)
    with pytest.raises(UsageError):
        broker.topics()
    broker.stop()


def test_it_can_be_started_again_and_is_empty():
    broker = EmbeddedBroker()
    with broker:
        broker.create_topic("t")
        with pytest.raises(UsageError):
            broker.start()
    with broker:
        assert broker.topics() == {}


def test_what_is_produced_from_inside_may_be_more_than_a_batch(kcore_broker):
    kcore_broker.create_topic("t", 2, settings={"max.message.bytes": "10000"})
    values = [b"%d" % number + bytes(900) for number in range(100)]
    assert kcore_broker.produce("t", [(b"k", value) for value in values], 1) == 100
    assert kcore_broker.end_offsets("t") == [0, 100]
    with kcore.Consumer(bootstrap_servers=kcore_broker.bootstrap) as consumer:
        tp = kcore.TopicPartition("t", 1)
        consumer.assign([tp])
        consumer.seek(tp, 0)
        found = []
        while len(found) < 100:
            found += [record.value for record in consumer.poll(timeout_ms=5_000).get(tp, ())]
    assert found == values
    with pytest.raises(RefusedError):
        kcore_broker.produce("t", [(None, bytes(20_000))])


def test_who_produces_from_inside_is_told_that_the_broker_has_ended():
    with EmbeddedBroker(nodes=2) as broker:
        broker.create_topic("t", replication_factor=2)
        broker.drop_replication(1, 2)
        told = []

        def produce():
            with pytest.raises(RuntimeError):
                broker.produce("t", [(None, b"v")])
            told.append(True)

        waiting = threading.Thread(target=produce)
        waiting.start()
        while not broker.end_offsets("t")[0]:
            time.sleep(0.01)
    waiting.join(20)  # a Produce may wait for replicas for longer
    assert told


@pytest.mark.parametrize("records", [[b"value"], [("k", "v")], [(b"k", b"v", b"more")]])
def test_what_is_no_record_is_said(kcore_broker, records):
    kcore_broker.create_topic("t")
    with pytest.raises(TypeError):
        kcore_broker.produce("t", records)


def test_settings_are_texts(kcore_broker):
    with pytest.raises(UsageError, match=r"retention\.ms"):
        kcore_broker.create_topic("t", settings={"retention.ms": 1000})


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_what_a_group_has_committed_is_told(protocol):
    options = {"group.id": "g", "group.protocol": protocol, "auto.offset.reset": "earliest"}
    with EmbeddedBroker(authorizer=True) as broker:  # which asks nobody who is inside
        broker.create_topic("t", 2)
        broker.produce("t", [(None, b"v")] * 3, 1)
        assert broker.committed_offsets("g", "t") == [None, None]
        broker.allow("User:*", "READ", topic="t", group="g")
        consumer = confluent_kafka.Consumer(options | {"bootstrap.servers": broker.bootstrap})
        consumer.subscribe(["t"])
        assert len(consumer.consume(3, 30)) == 3
        consumer.commit(asynchronous=False)
        consumer.close()
        assert broker.committed_offsets("g", "t") == [None, 3]
        with pytest.raises(LookupError, match="there is no topic 'u'"):
            broker.committed_offsets("g", "u")
        with pytest.raises(UsageError, match="group=7"):
            broker.committed_offsets(7, "t")
        broker.kill(1)
        with pytest.raises(RefusedError, match="nobody keeps the group 'g'"):
            broker.committed_offsets("g", "t")


def test_what_is_not_there_is_named(kcore_broker):
    kcore_broker.create_topic("t", 2)
    for partition, said in ((None, "no topic 'u'"), (1, "no topic 'u'")):
        with pytest.raises(LookupError, match=said):
            kcore_broker.produce("u", [(None, b"v")], partition)
    with pytest.raises(LookupError, match="no topic 'u'"):
        kcore_broker.move_leader("u", 0, 1)
    with pytest.raises(LookupError, match="no partition 2 of 't', which has 2"):
        kcore_broker.produce("t", [(None, b"v")], 2)


def test_it_listens_on_ipv6_too(ipv6_loopback):
    with EmbeddedBroker(host=ipv6_loopback) as broker:
        broker.create_topic("t")
        broker.produce("t", [(None, b"v")])
        assert broker.bootstrap.startswith("[::1]:")
        options = {"bootstrap_servers": broker.bootstrap, "auto_offset_reset": "earliest"}
        with kcore.Consumer("t", **options) as consumer:
            assert sum(map(len, consumer.poll(timeout_ms=5_000).values())) == 1


def test_a_taken_port_is_an_error_and_leaves_nothing_open():
    with EmbeddedBroker() as broker:
        port = int(broker.addresses[0].split(":")[1])
        with pytest.raises(OSError, match=f"in use: '127.0.0.1:{port}'"):
            EmbeddedBroker(port=port).start()


def test_a_host_that_nobody_knows_is_named():
    with pytest.raises(socket.gaierror, match=r"nowhere\.invalid:0"):
        EmbeddedBroker(host="nowhere.invalid").start()


def test_one_that_finds_no_thread_leaves_nothing_open(tmp_path, monkeypatch):
    before = descriptors()
    broker = EmbeddedBroker(directory=tmp_path)
    with monkeypatch.context() as patched:
        refused = Mock(side_effect=RuntimeError("can't start new thread"))
        patched.setattr(threading.Thread, "start", refused)
        with pytest.raises(RuntimeError, match="new thread"):
            broker.start()
    wait_for_descriptors(before)
    with broker:  # the directory is nobody's
        broker.create_topic("t")


def test_threads_end_with_it():
    before = set(threading.enumerate())  # some of others may be about to end
    for _ in range(3):
        with EmbeddedBroker(nodes=3):
            assert len(set(threading.enumerate()) - before) == 1
        assert set(threading.enumerate()) <= before


def test_a_child_process_keeps_nothing_open():
    with EmbeddedBroker() as broker:
        sock = connect(broker)
        assert ask(sock, m.MetadataRequest(topics=[]), 9).brokers
        host, port = broker.addresses[0].split(":")
        ours, theirs = socket.socketpair()
        child = os.fork()
        if not child:
            ours.close()
            theirs.send(b"!")  # it has begun
            theirs.recv(1)  # until the parent is done
            os._exit(0)
        theirs.close()
        assert ours.recv(1) == b"!"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=1)
    assert sock.recv(1) == b""
    sock.close()
    ours.close()
    os.waitpid(child, 0)


def test_topics_are_made_and_deleted(kcore_broker):
    kcore_broker.create_topic("a", 3, settings={"retention.ms": "1000"})
    with pytest.raises(RefusedError):
        kcore_broker.create_topic("a")
    assert kcore_broker.topics() == {"a": 3}
    assert kcore_broker.end_offsets("a") == [0, 0, 0]
    kcore_broker.delete_topic("a")
    with pytest.raises(LookupError):
        kcore_broker.delete_topic("a")
    with pytest.raises(LookupError):
        kcore_broker.end_offsets("a")


def test_garbage_ends_its_own_connection_only(kcore_broker):
    good, bad = connect(kcore_broker), connect(kcore_broker)
    bad.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert bad.recv(1) == b""
    assert ask(good, m.MetadataRequest(topics=[]), 9).brokers
    good.close()
    bad.close()


def test_who_never_reads_does_not_hold_up_others(kcore_broker):
    for number in range(500):
        kcore_broker.create_topic(f"topic-with-a-name-{number}", 20)
    lazy, good = connect(kcore_broker), connect(kcore_broker)
    lazy.setblocking(False)
    request = frames.encode_request(m.MetadataRequest(topics=None), 9, 1, "lazy")
    with suppress(BlockingIOError):  # at some point nothing more is taken from it
        for _ in range(1_000_000):
            lazy.send(request)
        pytest.fail("all of that was taken")
    assert ask(good, m.MetadataRequest(topics=[]), 9).brokers
    lazy.close()
    good.close()


def test_a_session_of_45_seconds_ends_when_time_passes(kcore_broker):
    kcore_broker.create_topic("t")
    sock = connect(kcore_broker)

    def members(group):
        described = ask(sock, m.DescribeGroupsRequest(groups=[group]), 5)
        return len(described.groups[0].members)

    for group in ("g", "h", "i", "j", "k"):  # a try in which the machine stood still says nothing
        member = kcore.Consumer(
            "t", bootstrap_servers=kcore_broker.bootstrap, group_id=group, session_timeout_ms=45_000
        )
        while not member.assignment():
            begin = time.monotonic()
            member.poll(timeout_ms=100)
        assert members(group) == 1
        kcore_broker.let_time_pass(44_000)
        left = members(group)
        if left == 1 or time.monotonic() - begin < 0.9:
            break
        member.close(autocommit=False)
    assert left == 1
    kcore_broker.let_time_pass(45_001)
    end = time.monotonic() + 10
    while members(group) and time.monotonic() < end:
        time.sleep(0.01)
    assert members(group) == 0
    sock.close()
    member.close(autocommit=False)


def test_the_command_serves_until_it_is_interrupted():
    command = [sys.executable, "-m", "kcore.cli.main", "broker", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        address = served.stdout.readline().split()[2].rstrip(";")
        host, port = address.split(":")
        with socket.create_connection((host, int(port)), timeout=10) as sock:
            assert ask(sock, m.MetadataRequest(topics=[]), 9).brokers
        served.terminate()
        assert served.wait(10) in {0, 143}


def test_the_command_can_look_like_an_older_kafka_and_have_another_name():
    command = [sys.executable, "-m", "kcore.cli.main", "broker", "--listen", "127.0.0.1:0"]
    command += ["--release", "2.1", "--advertise", "localhost"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        host, port = served.stdout.readline().split()[2].rstrip(";").split(":")
        assert host == "localhost"
        with socket.create_connection((host, int(port)), timeout=10) as sock:
            offered = ask(sock, m.ApiVersionsRequest(), 0).api_keys
        served.terminate()
    assert {one.api_key: one.max_version for one in offered}[ApiKey.METADATA] == 7


def test_the_command_puts_nodes_into_racks():
    command = [sys.executable, "-m", "kcore.cli.main", "broker", "--listen", "127.0.0.1:0"]
    command += ["--nodes", "2", "--racks", "a,b", "--replica-selector", "rack-aware"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        addresses = served.stdout.readline().split()[2].rstrip(";")
        host, port = addresses.split(",")[0].split(":")
        with socket.create_connection((host, int(port)), timeout=10) as sock:
            brokers = ask(sock, m.MetadataRequest(topics=[]), 9).brokers
        served.terminate()
    assert [broker.rack for broker in brokers] == ["a", "b"]


def test_the_command_makes_topics_before_it_says_that_it_serves(tmp_path):
    command = [sys.executable, "-m", "kcore.cli.main", "broker", "--listen", "127.0.0.1:0"]
    command += ["--nodes", "2", "--directory", str(tmp_path), "--topic", "t", "--topic", "u:3:2"]
    for _ in range(2):  # those that are kept are there already
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
            host, port = served.stdout.readline().split()[2].split(",")[0].split(":")
            with socket.create_connection((host, int(port)), timeout=10) as sock:
                topics = ask(sock, m.MetadataRequest(topics=None), 9).topics
            served.terminate()
        told = {one.name: [len(part.replica_nodes) for part in one.partitions] for one in topics}
        assert told == {"t": [1], "u": [2, 2, 2]}


def test_the_command_takes_options_under_kafkas_names():
    command = [sys.executable, "-m", "kcore.cli.main", "broker", "--listen", "127.0.0.1:0"]
    command += ["--nodes", "2", "--set", "num.partitions=4", "--set", "log.retention.ms=60000"]
    command += ["--set", "default.replication.factor=3", "--topic", "t", "--topic", "u:1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        bootstrap = served.stdout.readline().split()[2].rstrip(";")
        try:
            with kcore.Admin(bootstrap_servers=bootstrap) as admin:
                topics = admin.describe_topics(["t", "u"])
                topic = ConfigResource("topic", "t")
                configs = admin.describe_configs([topic], config_filter="all")
        finally:
            served.terminate()
    replicas = {one["name"]: [len(p["replica_nodes"]) for p in one["partitions"]] for one in topics}
    assert replicas == {"t": [2, 2, 2, 2], "u": [2]}
    assert configs["topic"]["t"]["retention.ms"]["value"] == "60000"


def test_settings_are_those_of_nodes_and_of_topics():
    settings = {"num.partitions": "3", "message.max.bytes": "200"}
    with EmbeddedBroker(nodes=2, settings=settings) as broker:
        broker.create_topic("t")
        assert broker.topics() == {"t": 3}
        with kcore.Producer(bootstrap_servers=broker.bootstrap) as producer:
            producer.send("made", b"v").get(10)
            with pytest.raises(MessageSizeTooLargeError):
                producer.send("t", b"v" * 200).get(10)
        assert broker.topics() == {"t": 3, "made": 3}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"num.partition": "4"}, "did you mean num.partitions"),
        ({"broker.rack": "a"}, "broker.rack is no setting of all nodes"),
        ("num.partitions=4", "is not a mapping such as"),
    ],
)
def test_settings_that_cannot_be(settings, said):
    with pytest.raises(UsageError, match=said):
        EmbeddedBroker(settings=settings)


def test_settings_of_who_may_come_in_go_with_what_lets_them_in():
    with EmbeddedBroker(
        security_protocol="SASL_PLAINTEXT",
        sasl_users={"me": "secret"},
        settings={"connections.max.reauth.ms": "30000"},
    ) as broker:
        assert broker._config.sasl.connections_max_reauth_ms == 30_000


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--super-user", "User:ANONYMOUS"),
        ("--set", "super.users=User:root;User:ANONYMOUS"),
        ("--set", "allow.everyone.if.no.acl.found=true"),
    ],
)
def test_the_command_can_ask_who_may(more):
    command = [sys.executable, "-m", "kcore.cli.main", "broker", "--listen", "127.0.0.1:0"]
    command += ["--authorizer", *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        host, port = served.stdout.readline().split()[2].rstrip(";").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as sock:
            topics = [m.MetadataRequest.MetadataRequestTopic(name="t")]
            (topic,) = ask(sock, m.MetadataRequest(topics=topics), 9).topics
        served.terminate()
    assert topic.error_code == (0 if more else 29)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("127.0.0.1:65535", "--nodes", "3"), "65535"),
        (("127.0.0.1:x",), "HOST:PORT"),
        (("0.0.0.0:0",), "every address of this machine"),
        (("127.0.0.1:0", "--advertise", "0.0.0.0"), "'0.0.0.0' is no host to connect to"),
        (("127.0.0.1:0", "--super-user", "User:admin"), "is for a broker with --authorizer"),
        (
            ("127.0.0.1:0", "--authorizer", "--super-user", "User:a", "--set", "super.users="),
            "--super-user or --set super.users=, not both",
        ),
        (("127.0.0.1:0", "--set", "super.users=User:a"), "is of a broker with an authorizer"),
        (("127.0.0.1:0", "--replica-selector", "rack-aware"), "is for a broker with --racks"),
        (("127.0.0.1:0", "--racks", "a,b"), "is not one for each of 1 nodes"),
        (("127.0.0.1:0", "--topic", "t:1:3"), "topic t: The target replication factor of 3"),
        (("127.0.0.1:0", "--topic", "a/b"), "topic a/b: "),
        (("127.0.0.1:0", "--set", "num.partition=4"), "did you mean num.partitions?"),
        (("127.0.0.1:0", "--set", "num.partitions"), "'num.partitions' is not NAME=VALUE"),
        (("127.0.0.1:0", "--set", "num.partitions=x"), "Invalid value x for configuration num.p"),
        (("127.0.0.1:0", "--set", "broker.rack=a"), "broker.rack is no setting of all nodes"),
        (("127.0.0.1:0", "--topic", "t", "--topic", "t:2"), "topic t: "),
        (("127.0.0.1:0", "--authorizer", "--super-user", "admin"), "'admin' is no principal"),
        (("127.0.0.1:0", "--kerberos-keytab", "x"), "SASL_PLAINTEXT or SASL_SSL has it"),
    ],
)
def test_the_command_says_what_cannot_be(options, said):
    ended = CliRunner().invoke(commands.kcore, ["broker", "--listen", *options])
    assert ended.exit_code
    assert isinstance(ended.exception, SystemExit)
    assert said in ended.stderr


def test_the_command_keeps_what_it_is_told_to_keep(tmp_path):
    command = [sys.executable, "-m", "kcore.cli.main", "broker", "--listen", "127.0.0.1:0"]
    command += ["--directory", str(tmp_path / "kept"), "--flush", "20"]

    def serve():
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    for known in ([], ["t"]):
        with serve() as served:
            address = served.stdout.readline().split()[2].rstrip(";")
            host, port = address.split(":")
            with socket.create_connection((host, int(port)), timeout=10) as sock:
                found = ask(sock, m.MetadataRequest(topics=None), 9).topics
                assert [topic.name for topic in found] == known
                topic = m.CreateTopicsRequest.CreatableTopic(
                    name="t", num_partitions=1, replication_factor=1
                )
                ask(sock, m.CreateTopicsRequest(topics=[topic], timeout_ms=1_000), 5)
            with serve() as second:
                _, said = second.communicate(timeout=20)
                assert second.returncode == 1
                assert "in use by another broker" in said
            served.terminate()
            assert served.wait(10) in {0, 143}
            served.stderr.close()


# What clients are told ---------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "0", "", "::"])
def test_every_address_is_none_to_connect_to(host):
    if host == "::" and not socket.has_dualstack_ipv6():
        host = "0.0.0.0"
    with pytest.raises(UsageError, match=r"every address of this machine.*--advertise"):
        EmbeddedBroker(host=host).start()


def test_clients_are_told_the_host_that_is_advertised():
    with EmbeddedBroker(2, advertised_host="localhost") as broker:
        assert [address.split(":")[0] for address in broker.addresses] == ["localhost"] * 2
        broker.create_topic("t", 2, replication_factor=2)
        broker.produce("t", [(None, b"v")])
        options = {"bootstrap_servers": broker.bootstrap, "auto_offset_reset": "earliest"}
        with kcore.Consumer("t", **options) as consumer:
            assert sum(map(len, consumer.poll(timeout_ms=5_000).values())) == 1
        broker.kill(2)
        broker.revive(2)  # it listens where it did
        assert broker.addresses[1].startswith("localhost:")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_what_is_advertised_is_one_host(host):
    with pytest.raises(UsageError, match="is no host to connect to"):
        EmbeddedBroker(advertised_host=host)
    with pytest.raises(UsageError, match="is for a broker on ports"):
        EmbeddedBroker(in_memory=True, advertised_host="localhost")


# Python notes a signal, and calls the handler before its next step; that step may be to wait.
STRUCK_BEFORE_IT_WAITS = """
import signal, sys, threading, time
from kcore.cli.main import main

def strike():
    while "serving" not in said:
        time.sleep(0.01)
    time.sleep(0.2)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

said = ""
def write(text, write=sys.stdout.write):
    global said
    said += text
    return write(text)

sys.stdout.write = write
threading.Thread(target=strike, daemon=True).start()
sys.argv = ["kcore", "broker", "--listen", "127.0.0.1:0"]
sys.exit(main())
"""


def test_a_signal_that_does_not_wake_the_command_ends_it_too():
    command = [sys.executable, "-c", STRUCK_BEFORE_IT_WAITS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (143, "")
