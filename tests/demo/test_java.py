"""Which Java is started, and what is said of one that is missing or too old."""

import pytest

from kcore.cli.demo.java import (
    JavaUnavailableError,
    KafkaUnavailableError,
    find_installation,
    find_java,
)


def make_java(folder, said='openjdk version "17.0.9" 2023-10-17'):
    folder.mkdir(parents=True)
    java = folder / "java"
    java.write_text(f"#!/bin/sh\ncat >&2 <<'.'\n{said}\n.\n")
    java.chmod(0o755)
    return str(java)


@pytest.fixture
def path(monkeypatch, tmp_path):
    """The first folder of the PATH; JAVA_HOME is not set."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    return tmp_path / "path"


def test_the_first_on_the_path(path):
    java = make_java(path)
    assert find_java() == java


def test_java_home_goes_before_the_path(path, monkeypatch, tmp_path):
    make_java(path)
    java = make_java(tmp_path / "home" / "bin", 'java version "21" 2023-09-19 LTS')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java() == java


def test_a_java_home_without_java_is_named(path, monkeypatch, tmp_path):
    make_java(path)  # which Spark would not take either
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    with pytest.raises(JavaUnavailableError, match=f"no java in JAVA_HOME, which is {tmp_path}"):
        find_java()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "java is Java 11; Java 17 or later is needed"),
        ('java version "1.8.0_202"', "java is Java 1; Java 17 or later is needed"),
        ("no such option", "java is Java of an unknown version; Java 17"),
    ],
)
def test_one_that_is_too_old_is_named(path, said, words):
    make_java(path, said)
    with pytest.raises(JavaUnavailableError, match=words):
        find_java()


def test_kafka_says_the_same(path, monkeypatch):
    monkeypatch.setenv("PATH", str(path))
    with pytest.raises(KafkaUnavailableError, match="no java on the PATH or in JAVA_HOME"):
        find_installation()
