"""OpenTelemetry's instrumentation of aiokafka and kafka-python, which kcore stands in for: the
trace of a record goes on with who reads it.
"""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow
BEGIN = """
import asyncio
import sys
import kcore
kcore.{install}()
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
kept, tracers = InMemorySpanExporter(), TracerProvider()
tracers.add_span_processor(SimpleSpanProcessor(kept))
trace.set_tracer_provider(tracers)
from opentelemetry.instrumentation.{module} import {name} as Instrumentor
Instrumentor().instrument(skip_dep_check=True)
where = sys.argv[1]
"""
END = """
first, second = kept.get_finished_spans()
print(first.name, second.name, first.context.trace_id == second.context.trace_id)
print(*{value for name, value in first.attributes.items() if "destination" in name})
"""
OF_AIOKAFKA = """
import aiokafka
async def main():
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=where) as producer:
        await producer.send_and_wait("t", b"v")
    reader = aiokafka.AIOKafkaConsumer(
        "t", bootstrap_servers=where, group_id="g", auto_offset_reset="earliest"
    )
    await reader.start()
    async for _ in reader:
        break
    await reader.stop()
asyncio.run(main())
"""
OF_KAFKA_PYTHON = """
import kafka
with kafka.KafkaProducer(bootstrap_servers=where) as producer:
    producer.send("t", b"v").get(10)
reader = kafka.KafkaConsumer(
    "t", bootstrap_servers=where, group_id="g", auto_offset_reset="earliest"
)
next(reader)
reader.close()
"""
PROGRAMS = [
    ("install_as_aiokafka", "aiokafka", "AIOKafkaInstrumentor", OF_AIOKAFKA),
    ("install_as_kafka_python", "kafka", "KafkaInstrumentor", OF_KAFKA_PYTHON),
]


@pytest.mark.parametrize(
    ("install", "module", "name", "text"), PROGRAMS, ids=["aiokafka", "kafka-python"]
)
def test_a_trace_goes_on_with_who_reads(kcore_broker, install, module, name, text):
    kcore_broker.create_topic("t", 1)
    code = BEGIN.format(install=install, module=module, name=name) + text + END
    done = subprocess.run(
        [sys.executable, "-c", code, kcore_broker.bootstrap],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[-3:-1] == ["t send t receive True", "t"]
