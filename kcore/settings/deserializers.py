"""Deserializers as users write them, made into what the reader calls: `f(topic, headers, data)`."""

from __future__ import annotations

from collections.abc import Callable

from kcore.hints import Any

Deserialize = Callable[[str, Any, Any], Any]


def normal_form(deserializer: Any) -> Deserialize | None:
    """One call for both kinds; None stays None.

    An object with `deserialize(topic, headers, data)` (kafka.serializer.Deserializer) is asked with
    all three, a plain callable with the data alone; data is bytes, or None for a null.
    """
    if deserializer is None:
        return None
    method: Deserialize | None = getattr(deserializer, "deserialize", None)
    if method is not None:
        return with_headers(method)

    def call(_topic: str, _headers: Any, data: Any) -> Any:
        return deserializer(data)

    return call


def with_headers(method: Any) -> Deserialize:
    """`serialize` or `deserialize` of an object, called with all three; those of kafka-python 2
    take (topic, data).
    """
    from inspect import signature  # noqa: PLC0415 - for who has such objects; it loads slowly

    try:
        signature(method).bind("", [], None)
    except TypeError:
        return lambda topic, _headers, data: method(topic, data)
    except ValueError:  # a method in C does not say what it takes
        pass
    return method  # type: ignore[no-any-return]
