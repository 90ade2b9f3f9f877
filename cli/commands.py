"""The command line: verbs, their options and help. What they do is in a module each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import isnan
from typing import Any, TypeVar

import click

from kcore.cli import endings, reading
from kcore.cli.formats import FormatError, Formatter, formatter

_Verb = TypeVar("_Verb", bound=Callable[..., Any])

_BEGIN: dict[str, Any] = {
    "metavar": "HOST:PORT[,...]",
    "envvar": "KCORE_BOOTSTRAP",
    "show_envvar": True,
    "callback": reading.bootstrap,
}
BOOTSTRAP = click.option(
    "-b", "--bootstrap", required=True, help="Brokers to begin with.", **_BEGIN
)
CODECS = click.Choice(["gzip", "snappy", "lz4", "zstd"])
_CODECS_HELP = "gzip, snappy, lz4 or zstd."


def _settings(client: str) -> Callable[[_Verb], _Verb]:
    given = click.option(
        "-X",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        callback=reading.settings,
        help=f"Any other option of kcore.{client}, repeatable.",
    )
    kept = click.option(
        "-F",
        "--config",
        type=click.File(encoding="utf-8-sig"),
        metavar="FILE",
        envvar="KCORE_CONFIG",
        show_envvar=True,
        is_eager=True,
        expose_value=False,
        callback=reading.config,
        help="More of them, and brokers, from this file: NAME=VALUE on a line each.",
    )
    return lambda verb: given(kept(verb))


def _formatter(_context: click.Context, _parameter: click.Parameter, text: str) -> Formatter:
    try:
        return formatter(text)
    except FormatError as wrong:
        raise click.BadParameter(str(wrong)) from wrong


class Verbs(click.Group):
    """All of them. Ctrl-C while one is still being loaded ends it as it does later on."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.exit(endings.INTERRUPTED)


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="kcore", message="kcore %(version)s")
def kcore() -> None:
    """An Apache Kafka consumer around a protocol core that does no I/O."""


@kcore.command()
@click.argument("topic")
@BOOTSTRAP
@click.option("-g", "--group", metavar="GROUP", help="Join this group and commit what was printed.")
@click.option("--share", is_flag=True, help="GROUP is a share group (KIP-932).")
@click.option(
    "-p",
    "--partition",
    "partitions",
    type=click.IntRange(min=0),
    multiple=True,
    help="Only this one, repeatable; not with --group.",
)
@click.option(
    "--from",
    "start",
    default="latest",
    show_default=True,
    metavar="earliest|latest|by_duration:PT1H|OFFSET|-N",
    callback=reading.start,
    help="Where to begin: at an OFFSET or the nearest there is; by_duration: with records of that "
    "time (ISO 8601); -N: the last N of each partition. With --group: if none is committed, no N.",
)
@click.option(
    "-n",
    "--max",
    "count",
    type=click.IntRange(min=0),
    default=0,
    help="Stop after that many; 0: never.",
)
@click.option("-e", "--exit", "stop_at_end", is_flag=True, help="Stop at the end of the topic.")
@click.option(
    "-f",
    "--format",
    "format_",
    default="value",
    show_default=True,
    callback=_formatter,
    metavar="FORMAT",
    help="value, key-value, json, journal (what coordinators write, such as __consumer_offsets), "
    "or a template: %t topic, %p partition, %o offset, %T timestamp, %k key, %s value, %K %S "
    "their lengths, %h headers; \\n \\t \\xHH.",
)
@_settings("Consumer")
@click.pass_context
def consume(
    context: click.Context,
    /,
    *,
    format_: Formatter,
    settings: dict[str, object],
    share: bool,
    **given: Any,
) -> None:
    """Print the records of TOPIC, as a member of a group or alone."""
    from kcore.cli.consume import ConsumeOptions  # noqa: PLC0415
    from kcore.cli.consume import consume as run_consume  # noqa: PLC0415
    from kcore.cli.consume_share import consume_share  # noqa: PLC0415

    options = ConsumeOptions(settings=settings, **given)
    if share:
        _check_share(context, options.group)
        sys.exit(endings.run(lambda: consume_share(options, format_, endings.output())))
    if options.group is not None and options.partitions:
        raise click.UsageError("a group assigns the partitions itself: --partition is without it")
    if options.group is not None and reading.is_place(options.start):
        raise click.UsageError("a group begins where it has committed: --from OFFSET is without it")
    sys.exit(endings.run(lambda: run_consume(options, format_, endings.output())))


def _check_share(context: click.Context, group: str | None) -> None:
    """UsageError: what goes without share groups."""
    why = {
        "start": "a share group begins where its share.auto.offset.reset says: --from is without it"
        " (`kcore groups GROUP --reset-to` puts it elsewhere)",
        "partitions": "a group assigns the partitions itself: --partition is without it",
        "stop_at_end": "a share group has no end that a member could see: --exit is without it",
    }
    if group is None:
        raise click.UsageError("--share takes a --group")
    for name, text in why.items():
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(text)


def _header(text: str) -> tuple[str, bytes]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE")
    return name, value.encode()


@kcore.command()
@click.argument("topic")
@BOOTSTRAP
@click.option(
    "-f",
    "--format",
    "format_",
    default="value",
    show_default=True,
    type=click.Choice(["value", "key-value", "json"]),
    help="Of a line: as kcore consume prints them.",
)
@click.option(
    "-K", "--separator", metavar="TEXT",
    help="Of key and value, instead of a tab; \\t \\xHH.",
)  # fmt: skip
@click.option("-k", "--key", metavar="KEY", help="Of the records whose line has none.")
@click.option(
    "-H",
    "--header",
    "headers",
    multiple=True,
    metavar="NAME=VALUE",
    callback=lambda _context, _parameter, given: tuple(map(_header, given)),
    help="Of every record, repeatable.",
)
@click.option("-p", "--partition", type=click.IntRange(min=0), help="All into this one.")
@click.option(
    "--keep-partitions", is_flag=True, help="Each record into the partition that its JSON names."
)
@click.option("-Z", "--null", "empty_is_null", is_flag=True, help="An empty key or value is null.")
@click.option("-z", "--compression", type=CODECS, metavar="CODEC", help=_CODECS_HELP)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing of what was written.")
@_settings("Producer")
def produce(
    *, format_: str, separator: str | None, key: str | None, compression: str | None, **given: Any
) -> None:
    """Write the lines of standard input to TOPIC, each as a record."""
    from kcore.cli.lines import parser, unescaped  # noqa: PLC0415
    from kcore.cli.produce import ProduceOptions  # noqa: PLC0415
    from kcore.cli.produce import produce as run_produce  # noqa: PLC0415

    try:
        parse = parser(format_, None if separator is None else unescaped(separator))
    except FormatError as wrong:
        raise click.UsageError(f"--separator: {wrong}") from wrong
    if given["keep_partitions"] and (format_ != "json" or given["partition"] is not None):
        raise click.UsageError("--keep-partitions is for --format json, without --partition")
    settings = given.pop("settings")
    if compression is not None:
        settings["compression_type"] = compression
    options = ProduceOptions(key=None if key is None else key.encode(), settings=settings, **given)
    sys.exit(endings.run(lambda: run_produce(options, parse, endings.input_())))


@kcore.command()
@click.argument("names", nargs=-1, metavar="[TOPIC]...")
@BOOTSTRAP
@click.option("-o", "--offsets", is_flag=True, help="First and end offset of each partition.")
@click.option("--internal", is_flag=True, help="Kafka's own topics, too.")
@_settings("Consumer")
def topics(
    bootstrap: str,
    names: tuple[str, ...],
    settings: dict[str, object],
    *,
    offsets: bool,
    internal: bool,
) -> None:
    """List topics with their partitions."""
    from kcore.cli.topics import list_topics  # noqa: PLC0415

    sys.exit(
        endings.run(
            lambda: list_topics(bootstrap, names, settings, offsets=offsets, internal=internal)
        )
    )


@kcore.command()
@click.argument("groups", nargs=-1, metavar="[GROUP]...")
@BOOTSTRAP
@click.option("--state", "states", multiple=True, metavar="STATE", help="Stable, Empty, ...")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="classic, share, streams, ...")
@click.option("--delete", is_flag=True, help="Delete these groups, which have no members.")
@click.option(
    "--reset-to",
    "where",
    metavar="earliest|latest|by_duration:PT1H|+N|-N|OFFSET",
    callback=reading.reset,
    help="Say where these groups, which have no members, would go on; +N and -N: from where they "
    "are, by_duration: with the records of that time, in ISO 8601.",
)
@click.option(
    "-t", "--topic", "topics", multiple=True, metavar="TOPIC",
    help="To be reset, repeatable; or what the group has committed for.",
)  # fmt: skip
@click.option("--execute", is_flag=True, help="With --reset-to: do it.")
@_settings("Admin")
def groups(*, delete: bool, execute: bool, **given: Any) -> None:
    """List groups; or the members of each GROUP, and what they read."""
    from kcore.cli import groups as verb  # noqa: PLC0415

    options = verb.GroupsOptions(**given)
    if options.groups and (options.states or options.types):
        raise click.UsageError("--state and --type are for a list: without GROUP")
    if (delete or options.where) and not options.groups:
        raise click.UsageError("--delete and --reset-to take the groups that they are for: GROUP")
    if delete and options.where:
        raise click.UsageError("--delete or --reset-to, not both")
    if (execute or options.topics) and not options.where:
        raise click.UsageError("--execute and --topic go with --reset-to")
    run = verb.delete if delete else verb.groups
    if options.where:
        sys.exit(endings.run(lambda: verb.reset(options, execute=execute)))
    sys.exit(endings.run(lambda: run(options)))


@kcore.command()
@click.argument("kind", type=click.Choice(["topic", "broker", "group", "client_metrics"]))
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("-b", "--bootstrap", help="Brokers to begin with.", **_BEGIN)
@click.option(
    "--bootstrap-controllers", "controllers", metavar="HOST:PORT[,...]",
    help="Controllers to begin with, in place of brokers (KIP-919).",
)  # fmt: skip
@click.option("-a", "--all", "every", is_flag=True, help="What nobody has set, too.")
@click.option(
    "--set", multiple=True, metavar="NAME=VALUE", callback=reading.pairs, help="Repeatable."
)
@click.option("--unset", multiple=True, metavar="NAME", help="As by default again, repeatable.")
@_settings("Admin")
@click.pass_context
def configs(context: click.Context, /, *, every: bool, **given: Any) -> None:
    """Print what is set for each NAME (without: all), or set it. Of all brokers: `default`."""
    from kcore.cli import configs as verb  # noqa: PLC0415

    reading.check_either(context)
    options = verb.ConfigsOptions(every=every, **given)
    changes = options.set or options.unset
    if changes and (every or not options.names):
        raise click.UsageError("--set and --unset take the NAME that they are for, and no --all")
    sys.exit(endings.run(lambda: (verb.alter if changes else verb.show)(options)))


@kcore.command()
@click.argument("groups", nargs=-1, metavar="GROUP...", required=True)
@BOOTSTRAP
@click.option(
    "-t", "--topic", "topics", multiple=True, metavar="TOPIC", help="Only this one, repeatable."
)
@click.option(
    "--max", "most", type=click.IntRange(min=0), metavar="RECORDS",
    help="Exit code 1 if a partition is further behind, or nothing is committed for it.",
)  # fmt: skip
@_settings("Admin")
def lag(**given: Any) -> None:
    """Print how far each GROUP is behind, and who reads what."""
    from kcore.cli import groups as verb  # noqa: PLC0415

    sys.exit(endings.run(lambda: verb.lag(verb.LagOptions(**given))))


@kcore.command()
@click.option(
    "-b", "--bootstrap", help="Your brokers, instead of an embedded one in a process of its own.",
    **_BEGIN,
)  # fmt: skip
@click.option("-t", "--topic", metavar="TOPIC", help="Read this one of yours; nothing is written.")
@click.option(
    "-n", "--records", type=click.IntRange(min=1), default=1_000_000, show_default=True,
    help="As many, or what the topic has.",
)  # fmt: skip
@click.option(
    "-s", "--size", "value_bytes", type=click.IntRange(1, 1_000_000), default=100,
    show_default=True, help="Bytes of a value.",
)  # fmt: skip
@click.option("-p", "--partitions", type=click.IntRange(1, 10_000), default=4, show_default=True)
@click.option("-z", "--compression", type=CODECS, metavar="CODEC", help=_CODECS_HELP)
@click.option("-r", "--rounds", type=click.IntRange(1, 1_000), default=3, show_default=True)
@_settings("Consumer and kcore.Producer")
def bench(**given: Any) -> None:
    """Measure how fast kcore writes to brokers and reads from them, here.

    A topic is made for it, and deleted again.
    """
    from kcore.cli.bench import BenchOptions  # noqa: PLC0415
    from kcore.cli.bench import bench as run_bench  # noqa: PLC0415

    if given["topic"] is not None and given["bootstrap"] is None:
        raise click.UsageError("--topic is of your brokers: --bootstrap says which")
    sys.exit(endings.run(lambda: run_bench(BenchOptions(**given))))


@kcore.command()
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
    help="Offer what this Kafka offered, from 2.1 on.  [default: 4.3]",
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


@kcore.command()
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


@kcore.command()
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


@kcore.command()
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
