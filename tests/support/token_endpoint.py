"""An identity provider that gives tokens to whoever asks (RFC 6749), and notes what was asked.

with TokenEndpoint() as endpoint:
    endpoint.answer = status, body, headers
    endpoint.url, endpoint.asked
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Self
from urllib.parse import parse_qs

Answer = tuple[int, Any, Mapping[str, str]]


class TokenEndpoint:
    """answer: an Answer, or what makes one of a question's Authorization header and form.
    asked: of each question these two; headers: all of its headers.
    """

    def __init__(self) -> None:
        self.answer: Answer | Callable[[str, dict[str, list[str]]], Answer] = (200, {}, {})
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        self.headers: list[dict[str, str]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                who = self.headers["Authorization"]
                endpoint.asked.append((who, form))
                endpoint.headers.append(dict(self.headers.items()))
                answer = endpoint.answer
                status, body, headers = answer(who, form) if callable(answer) else answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

            def log_message(self, *_: Any) -> None:
                """In silence."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._server.server_port}/token"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
