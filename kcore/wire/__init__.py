"""The wire protocol as data: message classes, codec, frames, versions, error codes.

schema/ says what messages exist, messages/ has their classes, `codec` turns them into bytes and
back, `frames` puts headers and lengths around them, `apis` agrees on versions, `codes` names the
errors that brokers answer with.
"""
