"""Entries of a coordinator's journal as Kafka's own classes read them."""

import json
import subprocess

import java_programs

from kcore.cli.demo.java import find_installation


def as_kafka_reads(topic, entries):
    """For each, what the formatters of Kafka's console tool say (None if none is for it); Kafka
    would write the same bytes.

    CalledProcessError for an entry that Kafka cannot read.
    """
    java = find_installation()
    command = java_programs.command(java, "ReadCoordinatorRecords", topic)
    lines = [f"{x.key.hex()} {'-' if x.value is None else x.value.hex()}" for x in entries]
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    found = []
    for line, answer in zip(lines, done.stdout.splitlines(), strict=True):
        key, value, said = answer.split(" ", 2)
        assert f"{key} {value}" == line
        found.append(json.loads(said) if said else None)
    return found
