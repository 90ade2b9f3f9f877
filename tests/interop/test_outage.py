"""All brokers gone for seconds: nothing spins, the log stays short, and reading goes on."""

import time

import pytest

BACK_WITHIN_S = 12.0
CPU_SHARE_MAX = 0.1  # of the outage: a member that spins would use all of it
LOG_LINES_MAX = 10


@pytest.mark.parametrize(
    ("how", "outage_s"),
    [
        pytest.param("kill", 3.0, marks=pytest.mark.slow),
        pytest.param("kill", 10.0, marks=pytest.mark.slow),
        pytest.param("pause", 10.0, marks=pytest.mark.slow),
    ],
)
@pytest.mark.timeout(150)
def test_all_brokers_gone_for_seconds(kafka, names, group_on, records, how, outage_s, request):
    kafka.create_topic(names.topic, 2)
    kafka.produce(names.topic, records(1_000))
    before = kafka.end_offsets(names.topic)
    group = group_on(kafka)
    member = group.add(session_timeout_ms=45_000, heartbeat_interval_ms=3_000)
    group.wait_read(lambda: before)

    node = kafka.nodes[0]
    cpu_s, log_lines = group.cpu_s(member), count_lines(group.log(member))
    request.addfinalizer(lambda: (node.resume(), kafka.start()))
    if how == "kill":
        kafka.kill(0)
    else:
        node.pause()
    time.sleep(outage_s)
    cpu_s = group.cpu_s(member) - cpu_s
    log_lines = count_lines(group.log(member)) - log_lines
    if how == "kill":
        kafka.restart(0)
    else:
        node.resume()
    back_s = time.monotonic()
    kafka.produce(names.topic, records(1_000))
    ends = kafka.end_offsets(names.topic)
    group.wait_read(lambda: ends, timeout_s=BACK_WITHIN_S)
    took_s = time.monotonic() - back_s

    print(f"{how}: {cpu_s:.2f} s of processor, {log_lines} lines, on after {took_s:.1f} s")
    assert cpu_s < CPU_SHARE_MAX * outage_s
    assert log_lines <= LOG_LINES_MAX, group.log(member).read_text()
    assigned = [message for _, message in group.messages if message["said"] == "assigned"]
    assert len(assigned) == 1, "the session held: there was no need to join again"
    group.stop()
    group.sessions.check(ends)
    log = group.log(member).read_text()
    # A broker that is silent for ten seconds is not known to be gone: no request has timed out.
    said = 1 if how == "kill" else 0
    assert log.count("no broker can be reached") == said
    assert log.count("a broker answers again") == said


def count_lines(path):
    return len(path.read_text().splitlines())
