"""kcore in the place of another client, for programs that import that one themselves: a framework
such as FastStream, or an application that is to be tried before its imports are changed.

    import kcore

    kcore.install_as_aiokafka()  # before anything imports aiokafka
    from faststream.kafka import KafkaBroker

Afterwards `import aiokafka` (or `kafka`, or `confluent_kafka`) finds modules that hold kcore's
classes under the other client's names, whether that one is installed or not. What it has and they
have not is an ImportError, as ever. It holds for the whole process, and is said by a line of the
log.
"""

from __future__ import annotations

from kcore.clients.stand_in.modules import install


def install_as_aiokafka() -> None:
    """`import aiokafka` gives kcore's AsyncConsumer, AsyncProducer and AsyncAdmin from now on.

    Once or more often. IllegalStateError: aiokafka itself is loaded already.
    """
    from kcore.clients.stand_in.aiokafka_names import MODULES  # noqa: PLC0415 - only when asked

    install("aiokafka", MODULES)


def install_as_kafka_python() -> None:
    """`import kafka` gives kcore's Consumer, Producer and Admin from now on.

    Once or more often. IllegalStateError: kafka-python itself is loaded already.
    """
    from kcore.clients.stand_in.kafka_python_names import MODULES  # noqa: PLC0415 - likewise

    install("kafka", MODULES)


def install_as_confluent_kafka() -> None:
    """`import confluent_kafka` gives clients with its ways over kcore's engines from now on.

    Where confluent-kafka is installed, its modules of Python alone that are about no client
    (`schema_registry`, `avro`) are loaded from there, over ours.
    Once or more often. IllegalStateError: confluent-kafka itself is loaded already.
    """
    from kcore.clients.stand_in.confluent.names import MODULES  # noqa: PLC0415 - likewise

    install("confluent_kafka", MODULES, lends=True)
