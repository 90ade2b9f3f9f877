"""Who may do what: access control lists, as Kafka's StandardAuthorizer reads them.

`acls.py` has the entries, `authorizer.py` answers whether somebody may do something, `table.py`
says what each API asks, and `guard.py` asks it of each request before its handler sees it.
"""
