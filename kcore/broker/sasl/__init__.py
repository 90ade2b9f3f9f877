"""SASL, the broker's half: who a connection's client is, before it may ask for anything else.

states.py         what is taken when, as tables (Java: SaslServerAuthenticator)
authenticator.py  one connection: its exchange, its session, its renewal (KIP-368)
mechanisms.py     PLAIN, and what a mechanism is
scram.py          SCRAM-SHA-256 and SCRAM-SHA-512
credentials.py    what is kept of a password for those
bearer.py         OAUTHBEARER: the exchange
tokens.py         tokens that nobody has signed, which a Kafka takes by default
users.py          who there is, with passwords and SCRAM credentials
config.py         what a broker can be told about it
names.py          the mechanisms that there are
"""

from __future__ import annotations
