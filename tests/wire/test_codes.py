"""The error codes are those of Kafka's `Errors`."""

import subprocess

import java_programs
import pytest

from kcore.cli.demo.java import find_installation
from kcore.errors import for_code
from kcore.wire.codes import INVALID_METADATA, RETRIABLE, ErrorCode


@pytest.mark.kafka
def test_codes_are_kafkas():
    java = find_installation()
    command = java_programs.command(java, "ListErrors")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    ours = [
        f"{code} {code.name} {code in RETRIABLE} {code in INVALID_METADATA}".lower()
        for code in ErrorCode
    ]
    assert sorted(ours) == sorted(done.stdout.lower().splitlines())


@pytest.mark.parametrize("code", [code for code in ErrorCode if code], ids=lambda code: code.name)
def test_each_has_an_exception_that_agrees(code):
    error = for_code(code)
    assert (error.errno, error.name) == (code, code.name)
    assert error.retriable == (code in RETRIABLE)
    assert error.invalid_metadata or code not in INVALID_METADATA
