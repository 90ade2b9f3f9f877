"""Which Java is started, and what is said of one that is missing or too old."""

import shutil
import subprocess

import pytest

from kcore.cli.demo.java import (
    SHARED_CLASSES,
    TOOLS,
    JavaUnavailableError,
    KafkaInstallation,
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


def test_classes_that_are_kept_beside_the_jars_are_shared(tmp_path):
    kafka = KafkaInstallation("java", tmp_path)
    alone = kafka.command("Main", "argument", jvm=("-Xmx1m",))
    assert not [word for word in alone if word.startswith(("-XX", "-Xlog"))]
    (tmp_path / SHARED_CLASSES).touch()
    shared = kafka.command("Main", "argument", jvm=("-Xmx1m",))
    assert f"-XX:SharedArchiveFile={tmp_path / SHARED_CLASSES}" in shared
    assert shared[-4:] == alone[-4:]  # class path, class and arguments


def test_an_archive_of_something_else_is_passed_over_quietly(installation, tmp_path):
    for jar in installation.jars.glob("*.jar"):
        (tmp_path / jar.name).symlink_to(jar.resolve())
    if (installation.jars / SHARED_CLASSES).exists():  # of jars that have other names, then
        shutil.copy(installation.jars / SHARED_CLASSES, tmp_path)
    else:
        (tmp_path / SHARED_CLASSES).write_bytes(b"something else")
    moved = KafkaInstallation(installation.java, tmp_path)
    command = moved.command(TOOLS["kafka-topics"], "--version")
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("4.")
