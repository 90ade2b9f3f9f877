"""The command line: verbs, their options and help. What they do is in a module each; those that
need no cluster are in local.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kcore.cli import endings, local, reading
from kcore.cli.formats import FormatError, Formatter, as_typed, formatter
from kcore.limits import MAX_INT16

if TYPE_CHECKING:
    from kcore.cli.consume import ConsumeOptions

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
AS_JSON = click.option(
    "--json", "as_json", is_flag=True, help="A JSON object on a line for each row of a table."
)
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
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...", callback=reading.patterns)
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
    metavar="earliest|latest|by_duration:PT1H|DATE|OFFSET|-N",
    callback=reading.start,
    help="Where to begin: at an OFFSET or the nearest there is; by_duration: with records of that "
    "time, DATE: from then on (ISO 8601, UTC unless it says otherwise; or @MS); -N: the last N of "
    "each partition. With --group: if none is committed, and no DATE, OFFSET or N.",
)
@click.option(
    "-n",
    "--max",
    "count",
    type=click.IntRange(min=0),
    default=0,
    help="Stop after that many; 0: never.",
)
@click.option(
    "--to",
    "stop",
    metavar="DATE|OFFSET",
    callback=reading.stop,
    help="Stop before that OFFSET of each partition, or before records of that time (or of a later "
    "one; at the end, where there are none).",
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
    """Print the records of each TOPIC, as a member of a group or alone.

    '^REGEX' stands for all topics whose names it matches, but not Kafka's own.
    """
    from kcore.cli.consume import ConsumeOptions  # noqa: PLC0415
    from kcore.cli.consume import consume as run_consume  # noqa: PLC0415
    from kcore.cli.consume_share import consume_share  # noqa: PLC0415

    options = ConsumeOptions(settings=settings, **given)
    if share:
        _check_share(context, options)
        sys.exit(endings.run(lambda: consume_share(options, format_, endings.output())))
    if options.partitions and (len(options.topics) > 1 or options.pattern is not None):
        raise click.UsageError("--partition is of one TOPIC")
    if options.group is not None and options.partitions:
        raise click.UsageError("a group assigns the partitions itself: --partition is without it")
    if options.group is not None and reading.is_place(options.start):
        raise click.UsageError("a group begins where it has committed: --from OFFSET is without it")
    sys.exit(endings.run(lambda: run_consume(options, format_, endings.output())))


def _check_share(context: click.Context, options: ConsumeOptions) -> None:
    """UsageError: what goes without share groups."""
    why = {
        "start": "a share group begins where its share.auto.offset.reset says: --from is without it"
        " (`kcore groups GROUP --reset-to` puts it elsewhere)",
        "partitions": "a group assigns the partitions itself: --partition is without it",
        "stop": "a share group has no end that a member could see: --to is without it",
        "stop_at_end": "a share group has no end that a member could see: --exit is without it",
    }
    if options.group is None:
        raise click.UsageError("--share takes a --group")
    if options.pattern is not None:
        raise click.UsageError("a share group takes no patterns: name its topics")
    for name, text in why.items():
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(text)


def _header(text: str) -> tuple[str, bytes]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE")
    return name, as_typed(value)


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
    options = ProduceOptions(key=None if key is None else as_typed(key), settings=settings, **given)
    sys.exit(endings.run(lambda: run_produce(options, parse, endings.input_())))


@kcore.command()
@click.argument("names", nargs=-1, metavar="[TOPIC]...")
@BOOTSTRAP
@click.option("-o", "--offsets", is_flag=True, help="First and end offset of each partition.")
@click.option("-l", "--leaders", is_flag=True, help="Leader and replicas of each partition.")
@click.option("--internal", is_flag=True, help="Kafka's own topics, too.")
@click.option("--create", is_flag=True, help="Make these topics.")
@click.option("--grow", is_flag=True, help="Add partitions to these topics: to --partitions.")
@click.option(
    "-p", "--partitions", type=click.IntRange(min=1), metavar="N",
    help="With --create: as many; else what the cluster has as its default.",
)  # fmt: skip
@click.option(
    "-r", "--replicas", type=click.IntRange(1, MAX_INT16), metavar="N",
    help="With --create: of each partition, likewise.",
)  # fmt: skip
@click.option(
    "--set", multiple=True, metavar="NAME=VALUE", callback=reading.pairs,
    help="With --create: what is set for them, repeatable.",
)  # fmt: skip
@click.option("--delete", is_flag=True, help="Delete these topics, with all that is in them.")
@AS_JSON
@_settings("Consumer or kcore.Admin")
def topics(
    *, offsets: bool, leaders: bool, internal: bool, **given: Any
) -> None:
    """List topics with their partitions; make, grow or delete them."""
    from kcore.cli.topics import (  # noqa: PLC0415
        TopicsOptions,
        create_topics,
        delete_topics,
        grow_topics,
        list_leaders,
        list_topics,
    )

    verbs = {"create": create_topics, "grow": grow_topics, "delete": delete_topics}
    asked = [name for name in verbs if given.pop(name)]
    options = TopicsOptions(**given)
    if asked and not options.names:
        raise click.UsageError(f"--{asked[0]} takes the topics that it is for: TOPIC")
    if len(asked) + offsets + leaders > 1:
        raise click.UsageError("one of --create, --grow, --delete, --offsets and --leaders")
    if (options.replicas or options.set) and asked != ["create"]:
        raise click.UsageError("--replicas and --set go with --create")
    if options.partitions and asked not in (["create"], ["grow"]):
        raise click.UsageError("--partitions goes with --create and --grow")
    if asked == ["grow"] and not options.partitions:
        raise click.UsageError("--grow takes the --partitions that there are to be")
    if asked:
        sys.exit(endings.run(lambda: verbs[asked[0]](options)))
    if leaders:
        sys.exit(endings.run(lambda: list_leaders(options, internal=internal)))
    sys.exit(endings.run(lambda: list_topics(options, offsets=offsets, internal=internal)))


@kcore.command()
@click.argument("groups", nargs=-1, metavar="[GROUP]...")
@BOOTSTRAP
@click.option("--state", "states", multiple=True, metavar="STATE", help="Stable, Empty, ...")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="classic, share, streams, ...")
@click.option("--delete", is_flag=True, help="Delete these groups, which have no members.")
@click.option(
    "--reset-to",
    "where",
    metavar="earliest|latest|by_duration:PT1H|DATE|+N|-N|OFFSET",
    callback=reading.reset,
    help="Say where these groups, which have no members, would go on; +N and -N: from where they "
    "are, by_duration and DATE: with the records of that time, in ISO 8601 (UTC; or @MS).",
)
@click.option(
    "-t", "--topic", "topics", multiple=True, metavar="TOPIC",
    help="To be reset, repeatable; or what the group has committed for.",
)  # fmt: skip
@click.option("--execute", is_flag=True, help="With --reset-to: do it.")
@AS_JSON
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
@AS_JSON
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
    help="Exit code 1 if a partition is further behind, or has records and nothing is committed.",
)  # fmt: skip
@AS_JSON
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


for _verb in (local.broker, local.demo, local.sim, local.pipeline):
    kcore.add_command(_verb)
