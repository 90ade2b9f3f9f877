"""Through Spark to a Kafka with Kerberos, by what people write for Spark's own source: a process of
its own, because driver and workers are told of their realm by its environment.
"""

import subprocess
import sys

import pytest
from kdc import REALM, missing
from kerberos_kafka import MODULE, OTHER, USER, KerberosKafka
from spark_processes import python_environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.timeout(400),
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]

JOB = """
import sys
from kcore.pipeline.jobs.session import session

address, jaas = sys.argv[1:]
options = {
    "kafka.bootstrap.servers": address,
    "kafka.security.protocol": "SASL_PLAINTEXT",
    "kafka.sasl.mechanism": "GSSAPI",
    "kafka.sasl.kerberos.service.name": "kafka",
    "kafka.sasl.jaas.config": jaas,
}
with session("local[2]", "kerberos", more={"spark.ui.enabled": "false"}) as spark:
    spark.sparkContext.setLogLevel("OFF")
    rows = spark.read.format("kcore").options(**options).option("subscribe", "t").load()
    try:
        print("read:", sorted(int(row.value) for row in rows.collect()))
        rows.selectExpr("value").write.format("kcore").options(**options).option(
            "topic", "written"
        ).mode("append").save()
    except Exception as error:
        print("failed:", error)
"""


@pytest.fixture(scope="module")
def kafka():
    with KerberosKafka() as kafka:
        kafka.create_topic("t", partitions=2)
        kafka.create_topic("written")
        kafka.produce("t", [(None, b"%d" % number) for number in range(20)])
        yield kafka


def run(kafka, login):
    done = subprocess.run(
        [sys.executable, "-c", JOB, kafka.address(), f"{MODULE} required {login};"],
        env={**python_environment(), **kafka.kdc.environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_read_and_written_by_a_keytab(kafka):
    login = (
        f'useKeyTab=true storeKey=true keyTab="{kafka.kdc.keytab(USER)}" '
        f'principal="{USER}@{REALM}" useTicketCache=false'
    )
    assert f"read: {list(range(20))}" in run(kafka, login)
    assert kafka.end_offsets("written") == {0: 20}


def test_a_ticket_cache_and_who_is_not_let_in(kafka):
    assert "failed:" in (said := run(kafka, "useTicketCache=true"))
    assert "kinit" in said
    kafka.kdc.kinit(USER)
    assert f"read: {list(range(20))}" in run(kafka, "useTicketCache=true")
    said = run(kafka, f'useKeyTab=true keyTab="{kafka.kdc.keytab(OTHER)}"')
    assert "failed:" in said
    assert "kinit" not in said
