"""A schema registry of a few calls, on 127.0.0.1: schemas are told apart by their text, and each
subject has its versions.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote, urlsplit


class SchemaRegistry:
    """url: where it is. subjects: {name: [id]}."""

    def __init__(self) -> None:
        self.schemas: list[dict[str, Any]] = []  # the first one's id is 1
        self.subjects: dict[str, list[int]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.registry = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        parts = [unquote(part) for part in urlsplit(path).path.strip("/").split("/")]
        match method, *parts:
            case "POST", "subjects", subject, "versions":
                return 200, self._register(subject, body)
            case "POST", "subjects", subject:
                return self._found(subject, self._id_of(body))
            case "GET", "schemas", "ids", number if 0 < int(number) <= len(self.schemas):
                return 200, self.schemas[int(number) - 1]
            case "GET", "subjects", subject, "versions", which:
                ids = self.subjects.get(subject, [])
                at = len(ids) if which == "latest" else int(which)
                return self._found(subject, ids[at - 1] if 0 < at <= len(ids) else None)
        return 404, {"error_code": 404, "message": f"{method} {path}"}

    def _id_of(self, body: dict[str, Any]) -> int | None:
        schema = _plain(body)
        return self.schemas.index(schema) + 1 if schema in self.schemas else None

    def _register(self, subject: str, body: dict[str, Any]) -> dict[str, Any]:
        number = self._id_of(body)
        if number is None:
            self.schemas.append(_plain(body))
            number = len(self.schemas)
        ids = self.subjects.setdefault(subject, [])
        if number not in ids:
            ids.append(number)
        return {"id": number}

    def _found(self, subject: str, number: int | None) -> tuple[int, dict[str, Any]]:
        ids = self.subjects.get(subject, [])
        if number is None or number not in ids:
            return 404, {"error_code": 40403, "message": "Schema not found"}
        version = ids.index(number) + 1
        row = {"subject": subject, "id": number, "version": version}
        return 200, row | self.schemas[number - 1]


def _plain(body: dict[str, Any]) -> dict[str, Any]:
    return {name: body[name] for name in ("schema", "schemaType", "references") if body.get(name)}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve({})

    def do_POST(self) -> None:
        self._serve(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _serve(self, body: dict[str, Any]) -> None:
        registry: SchemaRegistry = self.server.registry  # type: ignore[attr-defined]
        status, said = registry.answer(self.command, self.path, body)
        raw = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_args: object) -> None:
        """Nobody reads it."""
