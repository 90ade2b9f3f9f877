"""The codes that a consumer's own code names, and the one that every new member of a group meets;
see `kcore.errors` for why they are apart.
"""

from __future__ import annotations

from collections.abc import Mapping

from kcore.errors.base import (
    AuthenticationFailedError,
    AuthorizationError,
    BrokerResponseError,
    RetriableError,
)
from kcore.structs import TopicPartition


class TopicAuthorizationFailedError(AuthorizationError, code=29, name="TOPIC_AUTHORIZATION_FAILED"):
    """The principal may not use these topics.

    topics: their names.
    """

    topics: frozenset[str] = frozenset()


class UnsupportedSaslMechanismError(
    BrokerResponseError, AuthenticationFailedError, code=33, name="UNSUPPORTED_SASL_MECHANISM"
):
    """The broker does not offer the SASL mechanism.

    offered: the mechanisms that it does offer.
    """

    offered: tuple[str, ...] = ()


class IllegalSaslStateError(
    BrokerResponseError, AuthenticationFailedError, code=34, name="ILLEGAL_SASL_STATE"
):
    """The request does not fit the state of the SASL exchange."""


class UnsupportedVersionError(BrokerResponseError, code=35, name="UNSUPPORTED_VERSION"):
    """Broker and client share no version of the API, or not the feature that was asked for."""


class SaslAuthenticationFailedError(
    BrokerResponseError, AuthenticationFailedError, code=58, name="SASL_AUTHENTICATION_FAILED"
):
    """The broker refused the SASL credentials."""


class InvalidGroupIdError(BrokerResponseError, code=24, name="INVALID_GROUP_ID"):
    """The group id is not legal, or one is needed and none was given."""


class RebalanceInProgressError(BrokerResponseError, code=27, name="REBALANCE_IN_PROGRESS"):
    """The group is rebalancing; this member has to join again first."""


class MemberIdRequiredError(BrokerResponseError, code=79, name="MEMBER_ID_REQUIRED"):
    """Join again with the member id just given (KIP-394)."""


class FencedInstanceIdError(BrokerResponseError, code=82, name="FENCED_INSTANCE_ID"):
    """Another member has registered with this group_instance_id (KIP-345)."""


class OffsetOutOfRangeError(BrokerResponseError, code=1, name="OFFSET_OUT_OF_RANGE"):
    """The position is outside what the partition's log holds; `out_of_range_reset` is "none".

    That option is what `auto_offset_reset` is, unless it is given.
    partition: the TopicPartition. offset: the position asked for.
    log_start, high_watermark: what the log holds, as far as the broker said.
    offsets: {TopicPartition: offset} of every partition concerned, also the first argument,
        as in kafka-python.
    """

    partition: TopicPartition | None = None
    offset: int | None = None
    log_start: int | None = None
    high_watermark: int | None = None
    offsets: Mapping[TopicPartition, int] | None = None


class CorruptRecordError(RetriableError, BrokerResponseError, code=2, name="CORRUPT_MESSAGE"):
    """Record bytes fail their checksum or cannot be read; the broker's answer or our own finding.

    partition: the TopicPartition. first_offset, last_offset: the batch concerned (None: unknown).
    Seek to `last_offset + 1` to skip it; records before it have been handed over already.
    """

    partition: TopicPartition | None = None
    first_offset: int | None = None
    last_offset: int | None = None


class RequestTimedOutError(RetriableError, BrokerResponseError, code=7, name="REQUEST_TIMED_OUT"):
    """A request was not answered in time, by the broker's clock or by ours."""


class InvalidTopicError(BrokerResponseError, ValueError, code=17, name="INVALID_TOPIC_EXCEPTION"):
    """The topic name is not legal, or the topic may not be used this way.

    A ValueError as well, which is what kafka-python has for such names.
    """


# Other names of the same errors: aiokafka's, Java's, and kafka-python's older ones.
SaslAuthenticationFailed = SaslAuthenticationFailedError
CorruptRecordException = CorruptRecordError
Corrupt = CorruptRecordError
MemberIdRequired = MemberIdRequiredError
InvalidMessageError = CorruptRecordError
