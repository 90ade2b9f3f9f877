"""The mechanisms of SASL that there are, by the names that SaslHandshake has for them."""

from __future__ import annotations

from kcore.hints import Final

PLAIN: Final = "PLAIN"
SCRAM_SHA_256: Final = "SCRAM-SHA-256"
SCRAM_SHA_512: Final = "SCRAM-SHA-512"
OAUTHBEARER: Final = "OAUTHBEARER"
GSSAPI: Final = "GSSAPI"
# In the order in which brokers tell clients of them.
MECHANISMS: Final = (PLAIN, SCRAM_SHA_256, SCRAM_SHA_512, OAUTHBEARER, GSSAPI)
WITH_PASSWORDS: Final = MECHANISMS[:3]
