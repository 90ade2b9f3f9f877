"""Write `kcore/wire/messages/` from the schema texts in `kcore/wire/schema/`.

The text form is described in `kcore/wire/schema/__init__.py`. Run without arguments after changing
a schema; with `--check` nothing is written and the exit status says whether the committed files are
up to date.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "kcore" / "wire" / "schema"
MESSAGES = ROOT / "kcore" / "wire" / "messages"

END = 32767  # kcore.wire.message.END
NEVER = (-1, -1)
LINE = 100

PYTHON_TYPES = {
    "bool": "bool",
    "int8": "int",
    "int16": "int",
    "uint16": "int",
    "int32": "int",
    "int64": "int",
    "float64": "float",
    "string": "str",
    "bytes": "bytes",
    "records": "bytes | bytearray | memoryview",
    "uuid": "bytes",
}
ZERO = {
    "bool": False,
    "float64": 0.0,
    "string": "",
    "bytes": b"",
    "records": b"",
    "uuid": bytes(16),
}

Versions = tuple[int, int]


class SchemaError(Exception):
    """A schema text that does not follow the form."""


@dataclass
class SchemaField:
    """One field line, and the lines below it."""

    name: str
    type: str
    versions: Versions
    null: Versions = NEVER
    default: str | None = None
    tag: int = -1
    ignorable: bool = False
    plain: bool = False
    fields: list[SchemaField] = field(default_factory=list)

    @property
    def attribute(self) -> str:
        """The Python name."""
        return snake_case(self.name)

    @property
    def is_array(self) -> bool:
        """Whether the type is an array."""
        return self.type.startswith("[]")

    @property
    def item(self) -> str:
        """The type without the array brackets."""
        return self.type.removeprefix("[]")

    @property
    def is_struct(self) -> bool:
        """Whether the value is one struct (not an array of them)."""
        return not self.is_array and self.item not in PYTHON_TYPES


@dataclass
class SchemaStruct:
    """A struct that several fields share."""

    name: str
    versions: Versions
    fields: list[SchemaField] = field(default_factory=list)


@dataclass
class SchemaMessage:
    """One message of a schema text."""

    kind: str
    name: str
    key: int
    versions: Versions
    flexible: Versions
    unstable: bool
    fields: list[SchemaField] = field(default_factory=list)
    structs: list[SchemaStruct] = field(default_factory=list)

    def all_structs(self) -> dict[str, list[SchemaField]]:
        """Every struct of the message by name, inner ones before those that hold them."""
        found: dict[str, list[SchemaField]] = {}

        def collect(fields: list[SchemaField]) -> None:
            for row in fields:
                collect(row.fields)
                if row.fields:
                    if row.item in found:
                        raise SchemaError(f"{self.name}: struct {row.item} is defined twice")
                    found[row.item] = row.fields

        for struct in self.structs:
            collect(struct.fields)
            found[struct.name] = struct.fields
        collect(self.fields)
        return found


def snake_case(name: str) -> str:
    """Kafka's CamelCase as Python's snake_case; runs of capitals are one word."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def parse_versions(text: str) -> Versions:
    """`N`, `N-M`, `N+` or `none` as first and last version."""
    if text == "none":
        return NEVER
    match = re.fullmatch(r"(\d+)(?:(\+)|-(\d+))?", text)
    if match is None:
        raise SchemaError(f"not a version range: {text!r}")
    first = int(match[1])
    return first, END if match[2] else int(match[3] or first)


HEAD = re.compile(
    r"(request|response|header|data) (\w+)(?: key (\d+))? versions (\S+) flexible (\S+)( unstable)?"
)


def parse_schema(text: str) -> list[SchemaMessage]:
    """The messages of one schema text."""
    messages: list[SchemaMessage] = []
    stack: list[list[SchemaField]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        depth, odd = divmod(len(line) - len(line.lstrip()), 4)
        if odd or depth > len(stack):
            raise SchemaError(f"line {number}: bad indent")
        if depth == 0:
            messages.append(parse_head(line))
            stack = [messages[-1].fields]
            continue
        del stack[depth:]
        words = line.split(None, 2)
        if words[0] == "struct":
            if depth != 1:
                raise SchemaError(f"line {number}: a shared struct goes right below its message")
            struct = SchemaStruct(words[1], parse_versions(words[2].strip()))
            messages[-1].structs.append(struct)
            stack.append(struct.fields)
            continue
        row = parse_field(line)
        stack[-1].append(row)
        stack.append(row.fields)
    return messages


def parse_head(line: str) -> SchemaMessage:
    """A message's first line."""
    match = HEAD.fullmatch(line)
    if match is None:
        raise SchemaError(f"not a message: {line!r}")
    kind, name, key, versions, flexible, unstable = match.groups()
    return SchemaMessage(
        kind,
        name,
        int(key or -1),
        parse_versions(versions),
        parse_versions(flexible),
        unstable is not None,
    )


def parse_field(line: str) -> SchemaField:
    """A field's line."""
    name, kind, versions, *rest = line.split(None, 3)
    row = SchemaField(name, kind, parse_versions(versions))
    for extra in rest[0].split(", ") if rest else ():
        word, _, value = extra.partition(" ")
        if word == "null":
            row.null = parse_versions(value)
        elif word == "default":
            row.default = value
        elif word == "tag":
            row.tag = int(value)
        elif extra in ("ignorable", "plain"):
            setattr(row, extra, True)
        else:
            raise SchemaError(f"{name}: {extra!r} is not known")
    return row


def default_of(row: SchemaField) -> object:
    """The default as a Python value; `...` for what is made anew (arrays, structs)."""
    if row.default == "null":
        return None
    if is_made_anew(row):
        return ...
    if row.default is None:
        return ZERO.get(row.type, 0)
    if row.type == "bool":
        return row.default == "true"
    return int(row.default)


def is_made_anew(row: SchemaField) -> bool:
    """Whether the default is a new list or a new struct."""
    return (row.is_array or row.is_struct) and row.default != "null"


def python_type(message: SchemaMessage, row: SchemaField) -> str:
    """The annotation of a field."""
    item = PYTHON_TYPES.get(row.item, f"{message.name}.{row.item}")
    text = f"list[{item}]" if row.is_array else item
    return f"{text} | None" if row.null != NEVER or row.default == "null" else text


def literal(value: object) -> str:
    """A default in generated code."""
    if value == bytes(16):
        return "ZERO_UUID"
    return '""' if value == "" else 'b""' if value == b"" else repr(value)


def field_row(row: SchemaField) -> str:
    """A row of FIELDS."""
    names = (f'"{row.attribute}"', f'"{row.type}"')
    default = "..." if is_made_anew(row) else literal(default_of(row))
    default = default.replace("ZERO_UUID", 'b"\\0" * 16')  # constants only: nothing to do at import
    parts = (*names, *row.versions, *row.null, default, row.tag, row.ignorable, row.plain)
    return ", ".join(map(str, parts))


def emit_class(
    message: SchemaMessage, name: str, base: str, fields: list[SchemaField], inner: list[str]
) -> list[str]:
    """One class, not indented; `inner` goes between the constants and `__init__`."""
    names = "".join(f'"{row.attribute}", ' for row in fields).rstrip(" ")
    names = names if len(fields) == 1 else names.rstrip(",")
    lines = [f"class {name}({base}):", f"    __slots__ = ({names})", ""]
    if base == "Message":
        if message.key >= 0:
            lines.append(f"    API_KEY: ClassVar[int] = {message.key}")
        flexible = None if message.flexible == NEVER else message.flexible[0]
        lines.append(f"    VERSIONS: ClassVar[tuple[int, int]] = {message.versions}")
        lines.append(f"    FLEXIBLE_FROM: ClassVar[int | None] = {flexible}")
    if fields:
        lines.append("    FIELDS: ClassVar[Fields] = (")
        lines.extend(f"        ({field_row(row)})," for row in fields)
        lines += ["    )", ""]
    lines += inner
    if fields:
        lines += emit_init(message, fields)
    return [line if line.strip() else "" for line in lines]


def emit_init(message: SchemaMessage, fields: list[SchemaField]) -> list[str]:
    """The keyword-only constructor."""
    lines = ["    def __init__(", "        self,", "        *,"]
    for row in fields:
        default = "UNSET" if is_made_anew(row) else literal(default_of(row))
        lines.append(f"        {row.attribute}: {python_type(message, row)} = {default},")
    lines.append("    ) -> None:")
    for row in fields:
        name = row.attribute
        if is_made_anew(row):
            new = "[]" if row.is_array else f"{message.name}.{row.item}()"
            kind = python_type(message, row)
            lines.append(f"        self.{name}: {kind} = {new} if {name} is UNSET else {name}")
        else:
            lines.append(f"        self.{name} = {name}")
    return [*lines, ""]


def emit_module(path: Path, messages: list[SchemaMessage]) -> str:
    """The module of one schema text."""
    body: list[str] = []
    for message in messages:
        inner: list[str] = []
        for name, fields in message.all_structs().items():
            lines = emit_class(message, name, "Struct", fields, [])
            inner += [f"    {line}".rstrip() for line in lines]
        lines = emit_class(message, message.name, "Message", message.fields, inner)
        body.append("\n".join(lines).strip())
    text = "\n\n" + "\n\n\n".join(body) + "\n"
    imports = ("UNSET", "ZERO_UUID", "Fields", "Message", "Struct")
    names = [name for name in imports if name in text]
    head = [
        f'"""Made by tools/generate_wire.py from kcore/wire/schema/{path.name}; do not edit."""',
        "",
        "# fmt: off",
        "# ruff: noqa: RUF023, RUF100",
        "",
        "from __future__ import annotations",
        "",
        "from kcore.hints import ClassVar",
        f"from kcore.wire.message import {', '.join(names)}",
    ]
    return "\n".join(head) + "\n" + text


def module_name(path: Path) -> str:
    """`11_join_group.txt` -> `join_group`."""
    return re.sub(r"^\d+_", "", path.stem)


def emit_package(modules: dict[str, list[str]]) -> str:
    """`messages/__init__.py`: every message under one roof, each module loaded at first use."""
    lines = [
        '"""Every message class, loaded at first use (PEP 562).',
        "",
        "Made by tools/generate_wire.py; do not edit.",
        '"""',
        "",
        "from importlib import import_module",
        "",
        "from kcore.hints import TYPE_CHECKING",
        "from kcore.wire.message import ZERO_UUID, Message, Struct",
        "",
        "if TYPE_CHECKING:",
    ]
    for module, names in sorted(modules.items()):
        line = f"    from kcore.wire.messages.{module} import {', '.join(sorted(names))}"
        if len(line) > LINE:
            wrapped = "".join(f"        {name},\n" for name in sorted(names))
            line = f"    from kcore.wire.messages.{module} import (\n{wrapped}    )"
        lines.append(line)
    homes = sorted((name, module) for module, names in modules.items() for name in names)
    lines += ["", "__all__ = ["]
    public = ["ZERO_UUID", *sorted(["Message", "Struct", *dict(homes)])]
    lines += [f'    "{name}",' for name in public]
    lines += ["]", "", "_HOMES = {"]
    lines += [f'    "{name}": "{module}",' for name, module in homes]
    lines += ["}", "", ""]
    lines += [
        "if not TYPE_CHECKING:",
        "",
        "    def __getattr__(name):",
        "        home = _HOMES.get(name)",
        "        if home is None:",
        '            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")',
        '        value = getattr(import_module(f"{__name__}.{home}"), name)',
        "        globals()[name] = value",
        "        return value",
    ]
    return "\n".join(lines) + "\n"


def generate() -> dict[Path, str]:
    """Every file of the package with its text."""
    files: dict[Path, str] = {}
    modules: dict[str, list[str]] = {}
    for path in sorted(SCHEMA.glob("*.txt")):
        messages = parse_schema(path.read_text("utf-8"))
        modules[module_name(path)] = [message.name for message in messages]
        files[MESSAGES / f"{module_name(path)}.py"] = emit_module(path, messages)
    files[MESSAGES / "__init__.py"] = emit_package(modules)
    return files


def main() -> int:
    """Write, or check, the package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    arguments = parser.parse_args()
    files = generate()
    stale = [path for path in MESSAGES.glob("*.py") if path not in files]
    changed = [
        path for path, text in files.items() if not path.exists() or path.read_text("utf-8") != text
    ]
    for path in [*changed, *stale]:
        print(path.relative_to(ROOT))
    if arguments.check:
        return 1 if changed or stale else 0
    MESSAGES.mkdir(exist_ok=True)
    for path in changed:
        path.write_text(files[path], "utf-8")
    for path in stale:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
