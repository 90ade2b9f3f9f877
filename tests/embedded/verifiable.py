"""Kafka's Verifiable tools, which say what they see a JSON line each."""

import json
import subprocess
from contextlib import contextmanager

DEADLINE_S = 60
VERIFIABLE = "org.apache.kafka.tools.Verifiable"


@contextmanager
def running(installation, broker, name, *args):
    """A tool that goes on until the block ends; it is given the events it has printed so far."""
    command = installation.command(VERIFIABLE + name, "--bootstrap-server", broker.bootstrap, *args)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        events = []
        try:
            yield Events(process, events)
        finally:
            process.terminate()
            process.stdout.read()
            process.wait(DEADLINE_S)


class Events:
    """The JSON lines of a Verifiable tool, read as far as they are asked for."""

    def __init__(self, process, events):
        self._process = process
        self._events = events

    def wait(self, name, count=1):
        """The first `count` events of that name, or more."""
        while len(self.named(name)) < count:
            line = self._process.stdout.readline()
            assert line, f"it ended before {count} times {name}: {self._events[-5:]}"
            if line.startswith("{"):
                self._events.append(json.loads(line))
        return self.named(name)

    def named(self, name):
        return [event for event in self._events if event["name"] == name]
