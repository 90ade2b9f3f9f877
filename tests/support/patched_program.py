"""Blocking clients in a process whose threads, sockets and waits are greenlets', as a program of
its own: `patched_program.py gevent|eventlet early|late BOOTSTRAP CAFILE` patches it before kcore is
loaded, or behind that, and says at the end what it has found.

A green thread counts all the while: who waits in the kernel would stop it.
"""

import sys
import warnings

PATCHES, WHEN, BOOTSTRAP, CAFILE = sys.argv[1:]
EACH = 300

if WHEN == "late":
    import kcore.clients.consumer.workers
    import kcore.clients.producer.producer
    import kcore.transports.blocking
    import kcore.transports.selector
if PATCHES == "gevent":
    from gevent import monkey

    monkey.patch_all()
else:
    warnings.simplefilter("ignore")  # that it is deprecated
    import eventlet

    eventlet.monkey_patch()

import threading  # noqa: E402 - behind the patch
import time  # noqa: E402

import kcore  # noqa: E402
from kcore.admin import NewTopic  # noqa: E402

OPTIONS = {"bootstrap_servers": BOOTSTRAP, "security_protocol": "SSL", "ssl_cafile": CAFILE}
READING = OPTIONS | {
    "auto_offset_reset": "earliest",
    "enable_auto_commit": False,
    "isolation_level": "read_committed",
}
turns = 0
failures = []


def count():
    global turns  # noqa: PLW0603 - one program
    while True:
        time.sleep(0.01)
        turns += 1


def beside(*calls):
    """All of them at once, each in a thread."""

    def run(call):
        try:
            call()
        except Exception as error:  # noqa: BLE001 - said below
            failures.append(repr(error))

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not failures, failures
    assert not any(thread.is_alive() for thread in threads)


def write(admin):
    admin.create_topics([NewTopic("patched", 4, 1)])
    with kcore.Producer(**OPTIONS, buffer_memory=60_000, batch_size=8_000) as producer:

        def send():
            futures = [producer.send("patched", bytes(500)) for _ in range(EACH)]
            assert all(future.get(20).offset >= 0 for future in futures)

        beside(*[send] * 4, *[admin.list_topics] * 4)
    with kcore.Producer(**OPTIONS, transactional_id="patched") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("patched", b"aborted").get(20)
        producer.abort_transaction()


def read_in_a_group():
    seen = set()

    def member():
        with kcore.Consumer("patched", group_id="g", **READING) as consumer:
            end = time.monotonic() + 20
            while len(seen) < 4 * EACH and time.monotonic() < end:
                for tp, records in consumer.poll(timeout_ms=100).items():
                    seen.update((tp.partition, record.offset) for record in records)
                consumer.commit()

    beside(member, member)
    assert len(seen) == 4 * EACH, len(seen)


def handle_in_workers():
    done = set()

    def handle(record):
        time.sleep(0.001)
        done.add((record.partition, record.offset))

    with kcore.Consumer("patched", group_id="workers", **READING) as consumer:
        workers = kcore.Workers(consumer, handle, threads=8)

        def end():
            until = time.monotonic() + 20
            while len(done) < 4 * EACH and time.monotonic() < until:
                time.sleep(0.01)
            workers.stop()

        beside(workers.run, end)
    assert len(done) == 4 * EACH, len(done)


def wait():
    """Woken from another thread, and refused to it."""
    said = []
    with kcore.Consumer("patched", group_id="waits", **OPTIONS) as consumer:

        def poll():
            try:
                consumer.poll(timeout_ms=20_000)
            except kcore.errors.WakeupError:
                said.append("woken")

        def wake():
            time.sleep(0.3)
            before = turns
            time.sleep(0.2)
            assert turns - before > 5, turns - before
            try:
                consumer.poll(timeout_ms=0)
            except kcore.errors.ConcurrentUseError:
                said.append("refused")
            consumer.wakeup()

        beside(poll, wake)
    assert said == ["refused", "woken"], said


def share(admin):
    earliest = {"share.auto.offset.reset": "earliest"}
    admin.alter_configs([kcore.admin.ConfigResource("group", "shared", earliest)])
    with kcore.ShareConsumer("patched", group_id="shared", **OPTIONS) as consumer:
        end = time.monotonic() + 20
        while not consumer.poll(500) and time.monotonic() < end:
            pass
        assert time.monotonic() < end


threading.Thread(target=count, daemon=True).start()
with kcore.Admin(**OPTIONS) as admin:
    write(admin)
    read_in_a_group()
    handle_in_workers()
    wait()
    share(admin)
left = kcore.Producer(**OPTIONS, linger_ms=60_000)  # delivers at the end of the program
left.send("patched", b"last")
print("all of it,", "turns" if turns > 20 else "and nobody else had a turn")
