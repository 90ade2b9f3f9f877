"""A cluster in a folder, so that a restart keeps topics, records, producers, groups.

    <folder>/.lock                       held by the broker that uses it
    <folder>/cluster.log                 topics, options, access, leaders; a checked line a change
    <folder>/node-1/orders-0/*.log       the replicas' logs (log_files.py), also of the topics that
    <folder>/node-1/__consumer_offsets-7/*.log    coordinators keep groups and transactions in

The store is told of every change in its order, before anything is answered. What it keeps of a
partition is what a controller knows; the rest is in the logs themselves. A restart begins a new
leader epoch everywhere, as Kafka's does.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from crc32c import crc32c

from kcore.broker import Cluster
from kcore.broker.authorization.acls import Acl
from kcore.broker.delegation.tokens import Principal, Token
from kcore.broker.partitions import NOBODY, Partition
from kcore.broker.sasl.credentials import Credential
from kcore.broker.topics import Topic
from kcore.coordinator.journal import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kcore.embedded.disk import ALWAYS, NEVER, Disk, StorageError, unusable
from kcore.embedded.journal_files import adopt_journals, rehome
from kcore.embedded.log_files import LogFiles
from kcore.errors import UsageError
from kcore.timers import NEVER as NEVER_DUE
from kcore.transports.forking import release_in_child

if TYPE_CHECKING:
    from kcore.broker.quotas.table import Entity

_log = logging.getLogger(__name__)

FORMAT: Final = 2
_OLD_HASH: Final = 1  # names were in other partitions of the coordinators' topics: see `rehome`
_TOPIC_ID: Final = re.compile(r"topic_id: [0-9a-f]{32}")
# Producer ids written as given at a time: those left of them at the end are never given.
_PRODUCER_IDS: Final = 1_000


class Store:
    """What a folder has of a cluster. clock: ms, for `flush` every so many ms.

    UsageError: another broker uses the folder, or it is of another kind of cluster. StorageError.
    """

    def __init__(
        self, folder: Path, nodes: int, flush: str | int, clock: Callable[[], int]
    ) -> None:
        self.disk = Disk(flush, folder)
        self._folder = folder
        self._nodes = nodes
        self._clock = clock
        self._sync_at = NEVER_DUE
        self._topics: dict[str, dict[str, Any]] = {}  # by id: what the file says of them
        self._ids: dict[str, str] = {}  # by name
        self._settings: dict[str, dict[str, str]] = {}  # of nodes
        self._groups: dict[str, dict[str, str]] = {}  # options of groups
        self._client_metrics: dict[str, dict[str, str]] = {}  # subscriptions
        self._acls: dict[Acl, None] = {}
        self._credentials: dict[tuple[str, str], Credential] = {}  # by user and mechanism
        self._tokens: dict[str, Token] = {}  # delegation tokens by id; codes are kept nowhere
        self._quotas: dict[Entity, dict[str, float]] = {}
        self._features: tuple[dict[str, int], int] = {}, 0  # levels, and how often they were set
        self._reserved = 0  # producer ids
        self._given = 0
        self._format = FORMAT  # of what the folder has
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _lock(folder / ".lock")
        except OSError as error:
            raise unusable(folder, error) from error
        release_in_child(self)

    # Life ----------------------------------------------------------------------------------------

    def load(self, cluster: Cluster, now_ms: int) -> None:
        """Fill a cluster that has no nodes yet with what the folder has, and keep the rest, too."""
        try:
            self._load(cluster, now_ms)
        except OSError as error:  # what is there cannot be read
            raise unusable(self._folder, error) from error
        except StorageError as error:
            if isinstance(error.__cause__, OSError):  # nor written
                raise unusable(self._folder, error.__cause__) from error
            raise

    def _load(self, cluster: Cluster, now_ms: int) -> None:
        groups = cluster.config.coordinator.offsets_topic_num_partitions
        transactions = cluster.config.transactions.transaction_state_log_num_partitions
        about = {"format": FORMAT, OFFSETS_TOPIC: groups, TRANSACTIONS_TOPIC: transactions}
        found, rest = _records(self._path)
        if b"\n" in rest or (rest and not found):  # no crash of ours did that
            aside = self._path.with_name("cluster.log.damaged")
            self.disk.replace(aside, self._path.read_bytes())
            _log.warning("%s: line %d is damaged, and what follows it is lost; see %s",
                         self._path, len(found) + 1, aside)  # fmt: skip
        for record in found:
            self._take(record, about)
        cluster.settings.nodes.update(self._settings)
        cluster.settings.groups.update(self._groups)
        cluster.settings.client_metrics.update(self._client_metrics)
        cluster.features.set(*self._features)
        if cluster.authorizer is not None:
            cluster.authorizer.add(self._acls)
            cluster.authorizer.changed = self.acls_changed
        cluster.users.load(self._credentials)
        cluster.tokens.load(self._tokens)
        for entity, values in self._quotas.items():
            cluster.with_quotas().alter(entity, values)
        for topic_id, known in self._topics.items():
            self._restore(cluster, topic_id, known, now_ms)
        self._set_strays_aside()
        cluster.begin_producer_ids_at(self._given)
        self._reserved = self._given
        for topic in cluster.topics.topics():
            key = self._ids[topic.name] = topic.topic_id.hex()
            self._topics[key] = _described(topic)
        lines: list[dict[str, Any]] = [
            about | {"format": self._format},
            {"producer_ids": self._given},
            {"settings": self._settings},
            {"groups": self._groups},
            {"client_metrics": self._client_metrics},
            {"acls": [*self._acls]},
            {"features": self._features},
        ]
        lines += [_credited(*key, kept) for key, kept in self._credentials.items()]
        lines += [_delegated(key, kept) for key, kept in self._tokens.items()]
        lines += [{"quota": key, "values": kept} for key, kept in self._quotas.items() if kept]
        lines += [{"topic": key} | known for key, known in self._topics.items()]
        self.disk.replace(self._path, b"".join(map(_line, lines)))
        cluster.replication.store = cluster.users.store = cluster.tokens.store = self
        adopt_journals(self._folder / "coordinators", cluster, self.disk, now_ms)
        if self._format == _OLD_HASH:
            rehome(cluster, now_ms)
            self.disk.sync()
            self._write(about)

    def close(self) -> None:
        """Sync, unless that is never done, and let others use the folder. Idempotent."""
        self.disk.close()
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)

    def forked(self) -> None:
        """In the child of a fork: the parent goes on alone."""
        self.disk.forked()
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)

    # Told by the cluster -------------------------------------------------------------------------

    def topic_changed(self, topic: Topic) -> None:
        """It was made, or has more partitions, or other options."""
        key = topic.topic_id.hex()
        self._ids[topic.name] = key
        self._topics[key] = _described(topic)
        self._write({"topic": key} | self._topics[key])
        for partition in topic.partitions:
            self._attach(key, partition)

    def topic_deleted(self, topic: Topic) -> None:
        """It is gone, and so are its records."""
        key = topic.topic_id.hex()
        del self._topics[key], self._ids[topic.name]
        self._write({"deleted": key})
        for partition in topic.partitions:
            for log in partition.logs.values():
                if isinstance(log.store, LogFiles):
                    log.store.delete()
                    log.store = None

    def partition_changed(self, partition: Partition) -> None:
        """Another node leads it, or others are in sync, or have replicas."""
        key = self._ids.get(partition.topic, "")
        known = self._topics.get(key)
        if known is None or partition.number >= len(known["partitions"]):
            return
        known["partitions"][partition.number] = placed = _placed(partition)
        self._write({"partition": [key, partition.number, placed]})
        self._attach(key, partition)

    def settings_changed(self, settings: dict[str, dict[str, str]]) -> None:
        """Nodes have these options now."""
        self._write({"settings": settings})

    def groups_changed(self, groups: dict[str, dict[str, str]]) -> None:
        """Groups have these options now."""
        self._write({"groups": groups})

    def client_metrics_changed(self, subscriptions: dict[str, dict[str, str]]) -> None:
        """Clients are asked for these metrics now."""
        self._write({"client_metrics": subscriptions})

    def acls_changed(self, added: Sequence[Acl], removed: Sequence[Acl]) -> None:
        """There are other entries of access control lists."""
        self._write({"acls": [*added], "no_acls": [*removed]})

    def credential_changed(self, user: str, mechanism: str, credential: Credential | None) -> None:
        """A user goes by that in a SCRAM mechanism; None: by nothing any more."""
        if credential is None:
            self._credentials.pop((user, mechanism), None)
        else:
            self._credentials[user, mechanism] = credential
        self._write(_credited(user, mechanism, credential))

    def token_changed(self, token_id: str, token: Token | None) -> None:
        """There is a delegation token, or it is good for longer; None: it is gone."""
        if token is None:
            self._tokens.pop(token_id, None)
        else:
            self._tokens[token_id] = token
        self._write(_delegated(token_id, token))

    def quotas_changed(self, entity: Entity, values: Mapping[str, float]) -> None:
        """An entity has these quotas now."""
        self._quotas[entity] = dict(values)
        if not values:
            del self._quotas[entity]
        self._write({"quota": entity, "values": values})

    def features_changed(self, levels: Mapping[str, int], epoch: int) -> None:
        """Features are used up to these levels now."""
        self._features = dict(levels), epoch
        self._write({"features": self._features})

    def producer_id_given(self, producer_id: int) -> None:
        """No producer may get it again."""
        self._given = max(self._given, producer_id + 1)
        if self._given > self._reserved:
            self._reserved = self._given + _PRODUCER_IDS
            self._write({"producer_ids": self._reserved})

    # Flushing ------------------------------------------------------------------------------------

    @property
    def sync_first(self) -> bool:
        """Whether nothing may be answered before a `sync`."""
        return self.disk.flush == ALWAYS and self.disk.dirty

    def sync(self) -> None:
        """Have everything so far last. StorageError."""
        self._sync_at = NEVER_DUE
        self.disk.sync()

    def deadline(self) -> int:
        """When `sync` is due; NEVER if it is not."""
        if self.disk.flush in {ALWAYS, NEVER} or not self.disk.dirty:
            return NEVER_DUE
        if self._sync_at == NEVER_DUE:
            self._sync_at = self._clock() + int(self.disk.flush)
        return self._sync_at

    # Reading -------------------------------------------------------------------------------------

    @property
    def _path(self) -> Path:
        return self._folder / "cluster.log"

    def _take(self, record: dict[str, Any], about: dict[str, int]) -> None:
        """What one line says."""
        if "format" in record:
            self._format = record["format"]
            if record not in (about, about | {"format": _OLD_HASH}):
                raise UsageError(f"{self._folder} is of another kind of broker: {record}")
        elif "topic" in record:
            self._topics[record.pop("topic")] = record
        elif "partition" in record:
            key, number, placed = record["partition"]
            self._topics[key]["partitions"][number] = placed
        elif "deleted" in record:
            self._topics.pop(record["deleted"], None)
        else:
            self._take_other(record)

    def _take_other(self, record: dict[str, Any]) -> None:
        """The same, of what is not about a topic."""
        if "settings" in record:
            self._settings = record["settings"]
        elif "groups" in record:
            self._groups = record["groups"]
        elif "client_metrics" in record:
            self._client_metrics = record["client_metrics"]
        elif "features" in record:
            levels, epoch = record["features"]
            self._features = levels, epoch
        elif "acls" in record:
            self._acls.update((Acl(*acl), None) for acl in record["acls"])
            for acl in record.get("no_acls", ()):
                self._acls.pop(Acl(*acl), None)
        elif "user" in record:
            self._take_credential(*record["user"])
        elif "token" in record:
            self._take_token(*record["token"])
        elif "quota" in record:
            self._quotas[tuple((kind, name) for kind, name in record["quota"])] = record["values"]
        else:
            self._given = record.get("producer_ids", self._given)

    def _take_credential(
        self, user: str, mechanism: str, keys: list[str] | None, iterations: int
    ) -> None:
        if keys is None:
            self._credentials.pop((user, mechanism), None)
        else:
            salt, stored_key, server_key = map(bytes.fromhex, keys)
            kept = Credential(salt, stored_key, server_key, iterations)
            self._credentials[user, mechanism] = kept

    def _take_token(self, token_id: str, about: list[Any] | None) -> None:
        if about is None:
            self._tokens.pop(token_id, None)
            return
        owner, requester, renewers, *times = about
        self._tokens[token_id] = Token(
            token_id,
            Principal(*owner),
            Principal(*requester),
            tuple(Principal(*one) for one in renewers),
            *times,
        )

    def _restore(self, cluster: Cluster, topic_id: str, known: dict[str, Any], now_ms: int) -> None:
        replicas = [placed["replicas"] for placed in known["partitions"]]
        most = max(max(nodes) for nodes in replicas)
        if most > self._nodes:
            raise UsageError(f"{self._folder} has replicas of node {most}: start so many nodes")
        topic = cluster.topics.create(
            known["name"],
            len(replicas),
            known["settings"],
            assignments=replicas,
            topic_id=bytes.fromhex(topic_id),
        )
        wall_ms = cluster.wall_ms(now_ms)
        for partition, placed in zip(topic.partitions, known["partitions"], strict=True):
            for node_id, log in partition.logs.items():
                files = self._files(topic_id, node_id, partition)
                batches, start_offset = files.recover()
                log.load(batches, start_offset, wall_ms)
                log.store = files
            isr = [node for node in placed["isr"] if node in partition.logs]
            # The leader that was, unless a crash took more from it than from another.
            ends = {node: partition.logs[node].end_offset for node in isr}
            leader = placed["leader"]
            if ends and ends.get(leader, -1) < max(ends.values()):
                leader = max(isr, key=lambda node: ends[node])
            partition.isr, partition.leader_epoch = isr, placed["epoch"]
            partition.lead(leader if leader in cluster.live else NOBODY, now_ms)

    def _set_strays_aside(self) -> None:
        """Folders of topics that are not known: what was half deleted, or lost its last line."""
        known = {
            (f"node-{node}", f"{known['name']}-{number}"): key
            for key, known in self._topics.items()
            for number, placed in enumerate(known["partitions"])
            for node in placed["replicas"]
        }
        for folder in self._folder.glob("node-*/*"):
            topic_id = _topic_id(folder)
            expected = known.get((folder.parent.name, folder.name))
            if folder.name.endswith("-stray") or expected == topic_id:
                continue
            with suppress(OSError):
                folder.rename(folder.with_name(f"{folder.name}.{topic_id}-stray"))

    # Writing -------------------------------------------------------------------------------------

    def _write(self, record: dict[str, Any]) -> None:
        self.disk.append(self._path, _line(record))

    def _files(self, topic_id: str, node_id: int, partition: Partition) -> LogFiles:
        """Those of a replica. Their folder is made when there is something to keep: coordinators
        have many partitions that nothing is ever kept in.
        """
        folder = self._folder / f"node-{node_id}" / f"{partition.topic}-{partition.number}"
        if folder.exists():
            found = _topic_id(folder)
            if not found:  # a crash took what says so: it is this one's, as for a Kafka
                self._make_folder(topic_id, folder)
            elif found != topic_id:  # of another topic of this name
                shutil.rmtree(folder)
        prepare = None if folder.exists() else partial(self._make_folder, topic_id, folder)
        return LogFiles(folder, self.disk, prepare=prepare)

    def _make_folder(self, topic_id: str, folder: Path) -> None:
        self.disk.make_folder(folder)
        metadata = f"version: 0\ntopic_id: {topic_id}\n"
        self.disk.replace(folder / "partition.metadata", metadata.encode())

    def _attach(self, topic_id: str, partition: Partition) -> None:
        """Have logs that are new here tell what happens to them."""
        for node_id, log in partition.logs.items():
            if log.store is None:
                files = self._files(topic_id, node_id, partition)
                files.clear()
                files.fill(log.batches(), log.start_offset)
                log.store = files


def _described(topic: Topic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "settings": dict(topic.settings),
        "partitions": [_placed(partition) for partition in topic.partitions],
    }


def _placed(partition: Partition) -> dict[str, Any]:
    return {
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "leader": partition.leader,
        "epoch": partition.leader_epoch,
    }


def _credited(user: str, mechanism: str, kept: Credential | None) -> dict[str, Any]:
    """A line about a SCRAM credential: salt and keys, as a Kafka has them in its metadata."""
    if kept is None:
        return {"user": [user, mechanism, None, 0]}
    return {"user": [user, mechanism, [part.hex() for part in kept[:3]], kept.iterations]}


def _delegated(token_id: str, kept: Token | None) -> dict[str, Any]:
    """A line about a delegation token: all but its code, as a Kafka has it in its metadata."""
    return {"token": [token_id, None if kept is None else [*kept[1:]]]}


def _line(record: dict[str, Any]) -> bytes:
    text = json.dumps(record, separators=(",", ":"))
    return f"{crc32c(text.encode()):08x} {text}\n".encode()


def _records(path: Path) -> tuple[list[dict[str, Any]], bytes]:
    """The lines of a file up to the first one that is not whole, and all from there on: after a
    crash a piece of one line.
    """
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    end = next((at for at, line in enumerate(lines) if not _is_whole(line)), len(lines))
    return [json.loads(line.partition(b" ")[2]) for line in lines[:end]], b"".join(lines[end:])


def _is_whole(line: bytes) -> bool:
    checksum, _, text = line.partition(b" ")
    return line.endswith(b"\n") and checksum == b"%08x" % crc32c(text[:-1])


def _topic_id(folder: Path) -> str:
    """Whose folder it is; "" if that is not known."""
    with suppress(OSError, UnicodeDecodeError):
        for line in (folder / "partition.metadata").read_text("ascii").splitlines():
            if _TOPIC_ID.fullmatch(line):
                return line.removeprefix("topic_id: ")
    return ""


def _lock(path: Path) -> int:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        raise UsageError(f"{path.parent} is in use by another broker") from error
    return fd
