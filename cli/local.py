"""The command line: verbs that need no cluster, though some take yours. See commands.py."""

from __future__ import annotations

import sys
from math import isnan
from typing import Any

import click

from kcore.cli import endings, reading


@click.command()
@click.option(
    "-l",
    "--listen",
    default="127.0.0.1:9092",
    show_default=True,
    metavar="HOST:PORT",
    callback=reading.listen,
    help="Of the first node; the others take the ports that follow. Port 0: any free ones.",
)
@click.option(
    "-a",
    "--advertise",
    metavar="HOST",
    help="What clients are told to connect to, if that is not where it listens.",
)
@click.option("-n", "--nodes", type=click.IntRange(1, 100), default=1, show_default=True)
@click.option(
    "-d",
    "--directory",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Keep topics, records and groups there, for the next time.",
)
@click.option(
    "-t",
    "--topic",
    "topics",
    multiple=True,
    metavar="NAME[:PARTITIONS[:REPLICAS]]",
    callback=reading.topics,
    help="Make this topic, if it is not there yet. Repeatable.",
)
@click.option(
    "--set",
    multiple=True,
    metavar="NAME=VALUE",
    callback=reading.pairs,
    help="An option of Kafka's brokers, such as num.partitions=4. Repeatable.",
)
@click.option(
    "--flush",
    default="never",
    show_default=True,
    metavar="never|always|MS",
    callback=reading.flush,
    help="Sync what is kept: when the system likes, before each answer, or every so many ms.",
)
@click.option(
    "--release",
    metavar="X.Y",
    callback=reading.release,
    help="Offer what this Kafka offered, from 2.1 on.  [default: 4.4]",
)
@click.option(
    "--authorizer",
    is_flag=True,
    help="Refuse what no access control list allows (kafka-acls makes them).",
)
@click.option(
    "--super-user",
    "super_users",
    multiple=True,
    metavar="User:NAME",
    help="Whom they do not concern, with --authorizer; may be given more than once.",
)
@click.option(
    "--security-protocol",
    type=click.Choice(["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]),
    default="PLAINTEXT",
    show_default=True,
    help="TLS and SASL. A certificate is made if none is given.",
)
@click.option(
    "-u",
    "--user",
    "users",
    multiple=True,
    metavar="NAME:PASSWORD",
    callback=reading.users,
    help="Of SASL: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512. More than once for more of them.",
)
@click.option(
    "--delegation-token-secret-key",
    metavar="KEY",
    help="What delegation tokens are made with. Without one nobody gets any.",
)
@click.option(
    "--kerberos-keytab",
    metavar="FILE",
    help="Of SASL, too: GSSAPI, with the keys of the broker's principal (kafka/HOST).",
)
@click.option("--ssl-certfile", metavar="FILE", help="The broker's certificate (PEM).")
@click.option("--ssl-keyfile", metavar="FILE", help="Its key.")
@click.option("--ssl-cafile", metavar="FILE", help="Who signs clients' certificates.")
@click.option(
    "--ssl-client-auth",
    type=click.Choice(["none", "requested", "required"]),
    help="Whether clients have to show certificates.  [default: none]",
)
@click.option(
    "--racks",
    metavar="NAME[,...]",
    callback=reading.racks,
    help="The rack of each node, for clients with a client_rack.",
)
@click.option(
    "--replica-selector",
    type=click.Choice(["leader", "rack-aware"]),
    default="leader",
    show_default=True,
    help="Where consumers read from: also from followers in their rack.",
)
def broker(listen: tuple[str, int], **given: Any) -> None:
    """Serve the Kafka protocol, for trying things out: from memory, or kept in a directory."""
    from kcore.cli.broker import ServeOptions, serve  # noqa: PLC0415

    sys.exit(endings.run(lambda: serve(ServeOptions(*listen, **given))))


@click.command()
@click.option("-b", "--bootstrap", metavar="HOST:PORT[,...]", help="Your brokers instead.")
@click.option("-t", "--topic", metavar="TOPIC", help="Your topic; with --bootstrap.")
@click.option("-g", "--group", default="kcore-demo", show_default=True, metavar="GROUP")
@click.option(
    "--members", type=click.IntRange(1, 64), default=3, show_default=True, help="Processes."
)
@click.option("--kafka", is_flag=True, help="A real Kafka, started here and ended again (Java 17).")
@click.option(
    "--kill-node",
    is_flag=True,
    help="Kill the node that coordinates the group half way, and bring it back.",
)
def demo(**given: Any) -> None:
    """Watch a group of three read a topic: 336,776 flights on three embedded nodes, or yours."""
    if (given["bootstrap"] is None) != (given["topic"] is None):
        raise click.UsageError("--bootstrap and --topic go together: whose topic, and where")
    if given["bootstrap"] is not None and (given["kafka"] or given["kill_node"]):
        raise click.UsageError("--kafka and --kill-node are for brokers of the demo's own")
    from kcore.cli.demo.run import Wishes, run_demo  # noqa: PLC0415

    sys.exit(endings.run(lambda: run_demo(Wishes(**given))))


def _number(_ctx: click.Context, _param: click.Parameter, given: float | None) -> float | None:
    """NaN is within every range."""
    if given is not None and isnan(given):
        raise click.BadParameter("must be a number")
    return given


def _faults(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> tuple[str, ...] | None:
    if text is None:
        return None
    from kcore.sim import Fault  # noqa: PLC0415

    words = tuple(text.split(","))
    known = {"none", "all", *(kind.value for kind in Fault)}
    for word in words:
        if word not in known:
            raise click.BadParameter(f"{word!r} is none of {', '.join(sorted(known))}")
    return words


@click.command()
@click.option("-s", "--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option("-r", "--runs", type=click.IntRange(min=1), default=1, help="Seeds in a row.")
@click.option("--members", type=click.IntRange(1, 100_000), help="To begin with.")
@click.option("--brokers", type=click.IntRange(1, 100))
@click.option("--topics", type=click.IntRange(1, 1_000))
@click.option("--partitions", type=click.IntRange(1, 10_000), help="Of each topic.")
@click.option("--groups", type=click.IntRange(1, 1_000), help="That share the members.")
@click.option(
    "--protocol", type=click.Choice(["classic", "consumer", "both", "share", "exactly-once"]),
    help="That members speak.",
)  # fmt: skip
@click.option(
    "--duration", type=click.FloatRange(0, 1e6), callback=_number, metavar="SECONDS",
    help="Of the faults.",
)  # fmt: skip
@click.option(
    "--faults", metavar="WORD[,...]", callback=_faults, help="none, all, cut, node-crash, ..."
)
@click.option(
    "--trace", type=click.IntRange(min=0), default=40, show_default=True, metavar="LINES",
    help="Of what led to a violation.",
)  # fmt: skip
@click.option(
    "--html", type=click.Path(dir_okay=False, writable=True), metavar="FILE",
    help="Draw the run as a page; of several, the first that breaks a rule.",
)  # fmt: skip
def sim(**given: Any) -> None:
    """Simulate groups under faults, and judge every step.

    Members and brokers run in this process on a clock of its own; whatever is not given is drawn
    from the seed, and a seed is a run, bit for bit. Exit code 1 if a rule was broken.
    """
    from kcore.cli.sim import SimOptions  # noqa: PLC0415
    from kcore.cli.sim import sim as run_sim  # noqa: PLC0415

    options = SimOptions(**given)
    if conflict := options.conflict():
        raise click.UsageError(conflict)
    sys.exit(endings.run(lambda: run_sim(options)))


@click.command()
@click.argument("name", type=click.Choice(["delays", "weather", "aircraft"]))
@click.option(
    "-b", "--bootstrap", metavar="HOST:PORT[,...]", help="Brokers; without: an embedded one."
)
@click.option(
    "-o", "--out", default="pipeline-out", show_default=True, metavar="DIR", help="Results, plot."
)
@click.option("--master", default="local[2]", show_default=True, help="Spark's.")
@click.option(
    "--rows", type=click.IntRange(4_000, 336_776), metavar="N", help="The first N flights only."
)
@click.option("--load/--no-load", default=True, help="Fill the topics, if they are empty.")
@click.option("--optional", is_flag=True, help="Where Spark cannot run, say why, and be content.")
def pipeline(**given: Any) -> None:
    """Run a Spark job on the flights of 2013, and check it against pandas.

    delays: by carrier and hour, with late data. weather: flights joined with the weather.
    aircraft: the last state of each, from a compacted topic. Run again with the same DIR, a job
    that was killed goes on where it was.
    """
    from kcore.cli.pipeline import PipelineOptions  # noqa: PLC0415
    from kcore.cli.pipeline import pipeline as run_pipeline  # noqa: PLC0415

    sys.exit(endings.run(lambda: run_pipeline(PipelineOptions(**given))))
