"""Quotas of clients (KIP-13, KIP-124, KIP-546, KIP-599, KIP-612). A broker that has none loads
nothing of it.

table.py     what is set for whom, and what counts for a client
rates.py     how much of something there is a second
quotas.py    a cluster's: who a client is, what the controller counts
throttle.py  a node's: who has used how much, and who has to wait
"""
