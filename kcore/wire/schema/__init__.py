"""The message schemas as text: the source of `kcore.wire.messages`.

tools/generate_wire.py turns them into classes. One file an API (`NN_name.txt`, NN the API key);
what travels inside others (headers, blobs, records of Kafka's own topics) has no number. A message
starts at the left margin::

    request JoinGroupRequest key 11 versions 0-9 flexible 6+
        GroupId             string                      0+
        GroupInstanceId     string                      5+  null 5+, default null
        Protocols           []JoinGroupRequestProtocol  0+
            Name            string                      0+

First line: what it is (request, response, header, data), name, API key, versions that exist,
versions with compact types and tagged fields, `unstable` if the highest version may still change.
Each further line: a field's name (as in Kafka's own definitions), type, the versions that have it,
and then what is not usual, separated by commas:

    null V      may be null in versions V
    default X   the default, where it is not the type's own (0, false, "", empty, nil uuid)
    tag N       a tagged field, in every version that has it
    ignorable   may be dropped when written in a version that lacks it
    plain       never compact

Deeper lines are the fields of the struct that the line above names; `struct NAME  V` declares one
that several fields share. Versions are `N`, `N-M`, `N+` or `none`.
"""
