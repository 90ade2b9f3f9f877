"""Quotas of clients, as a scripted cluster tells them."""

import pytest
from scripted_admin import admin_world

from kcore import errors
from kcore.admin import ClientQuotaMatch
from kcore.admin.quotas import (
    QuotaAlteration,
    QuotaComponent,
    alter_client_quotas,
    describe_client_quotas,
)
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

USER, DEFAULT = (("user", "u"),), (("client-id", None), ("user", "u"))
BOTH = [QuotaAlteration(USER, {"a": 2.5, "b": None}), QuotaAlteration(DEFAULT, {"a": 1.0})]


def asked(cluster, api):
    return [one for _, known, one in cluster.asked if known is api]


def test_quotas_are_told():
    _, cluster, client = admin_world()
    R = m.DescribeClientQuotasResponse
    entity = [
        R.EntityData(entity_type="user", entity_name="u"),
        R.EntityData(entity_type="client-id", entity_name=None),
    ]
    entry = R.EntryData(entity=entity, values=[R.ValueData(key="a", value=2.5)])
    cluster.script[ApiKey.DESCRIBE_CLIENT_QUOTAS] = lambda *_: R(entries=[entry])
    wanted = [
        QuotaComponent("user", ClientQuotaMatch.EXACT, "u"),
        QuotaComponent("client-id", ClientQuotaMatch.ANY, None),
    ]
    found = client.run(describe_client_quotas(wanted, strict=True))
    assert found == [{"entity": {"user": "u", "client-id": None}, "quotas": {"a": 2.5}}]
    (sent,) = asked(cluster, ApiKey.DESCRIBE_CLIENT_QUOTAS)
    told = [(one.entity_type, one.match_type, one.match) for one in sent.components]
    assert (told, sent.strict) == ([("user", 0, "u"), ("client-id", 2, None)], True)
    cluster.script[ApiKey.DESCRIBE_CLIENT_QUOTAS] = lambda *_: R(entries=None)
    assert client.run(describe_client_quotas([], strict=False)) == []


def test_quotas_are_altered():
    _, cluster, client = admin_world()
    cluster.controller = 2
    found = client.run(alter_client_quotas(BOTH, validate_only=True, raise_errors=False))
    assert found == [
        ({"user": "u"}, errors.NoError),
        ({"client-id": None, "user": "u"}, errors.NoError),
    ]
    (sent,) = asked(cluster, ApiKey.ALTER_CLIENT_QUOTAS)
    assert sent.validate_only
    ops = [(one.key, one.value, one.remove) for one in sent.entries[0].ops]
    assert ops == [("a", 2.5, False), ("b", 0.0, True)]
    assert cluster.who_was_asked(ApiKey.ALTER_CLIENT_QUOTAS) == [2]


def test_each_entity_has_its_own_end():
    _, cluster, client = admin_world()
    R = m.AlterClientQuotasResponse

    def some(_node, request):
        rows = []
        for entry in reversed(request.message.entries):
            # Brokers name the parts of an entity in an order of their own.
            parts = [
                R.EntityData(entity_type=part.entity_type, entity_name=part.entity_name)
                for part in reversed(entry.entity)
            ]
            code = ErrorCode.INVALID_REQUEST if len(parts) > 1 else 0
            rows.append(R.EntryData(entity=parts, error_code=code, error_message="no such"))
        return R(entries=rows)

    cluster.script[ApiKey.ALTER_CLIENT_QUOTAS] = some
    found = client.run(alter_client_quotas(BOTH, validate_only=False, raise_errors=False))
    assert [kind for _, kind in found] == [errors.NoError, errors.InvalidRequestError]
    words = r"client-id \(default\), user 'u': no such"
    with pytest.raises(errors.InvalidRequestError, match=words):
        client.run(alter_client_quotas(BOTH, validate_only=False, raise_errors=True))


def test_an_entity_that_cannot_be_is_passed_over():
    """A type twice, once as the default: names and none have no order among themselves."""
    _, cluster, client = admin_world()
    R = m.AlterClientQuotasResponse
    parts = [R.EntityData(entity_type="user", entity_name=name) for name in ("u", None)]
    strange = R.EntryData(entity=parts)
    cluster.first(ApiKey.ALTER_CLIENT_QUOTAS, R(entries=[strange]))
    wanted = BOTH[:1]
    found = client.run(alter_client_quotas(wanted, validate_only=False, raise_errors=True))
    assert found == [({"user": "u"}, errors.NoError)]
    assert cluster.count(ApiKey.ALTER_CLIENT_QUOTAS) == 2
