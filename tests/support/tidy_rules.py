"""The tree's house rules as plain functions over a root folder; each gives the list of violations.

They are functions of a folder so that the canary (tests/tidy/test_canary.py) can run every one of
them on a made-up bad tree and see it fail.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent

# Bands, top to bottom: a band imports only bands above it, and rooms of one band not each other.
# The leaves are single modules of one room.
LEAVES = {
    *("hints", "values", "tuples", "enums", "errors", "limits", "structs", "timers", "meters"),
    *("locks", "stint", "actions", "events", "durations", "bounds", "unbuilt"),
}
BANDS: list[set[str]] = [
    {"leaves"},
    {"wire"},
    {"records"},
    {"assignors"},
    {"connection", "coordinator"},
    {"telemetry"},
    {"cluster", "group", "fetch", "produce", "broker"},
    {"settings"},
    {"consumer", "producer", "share", "admin"},
    {"sim"},
    {"transports"},
    {"clients", "embedded"},
    {"pipeline"},
    {"cli"},
    {"__main__"},
]
# The broker's rooms are a side of their own: beside the client's, and neither imports the other.
CLIENT_SIDE = {
    *("connection", "cluster", "group", "fetch", "produce", "settings", "consumer", "producer"),
    *("share", "admin", "telemetry"),
    *("transports", "clients"),
}
BROKER_SIDE = {"coordinator", "broker"}
RANK = {room: rank for rank, band in enumerate(BANDS) for room in band}
# Of the package, but not in kcore/.
BESIDE = ("transports", "clients", "embedded", "pipeline", "cli")
# Rooms of clients/, and which of the others each may import; "" is what all have in common.
CLIENT_ROOMS: dict[str, set[str]] = {
    "": {"credentials"},
    "credentials": {""},
    "consumer": {""},
    "producer": {""},
    "share": {"", "consumer"},
    "admin": {""},
    "stand_in": {"", "consumer", "producer", "share", "admin"},
}
# Folders of modules of one kind: the map has the folder.
TOLD_AS_ONE = {"apis", "messages", "demo", "sim_page"}

# What a core that does no I/O and reads no clock has no use for.
IO_MODULES = {
    *("time", "socket", "select", "selectors", "threading", "asyncio", "gevent", "random", "os"),
    *("subprocess", "ssl", "signal", "multiprocessing", "concurrent", "secrets", "_thread"),
}
IO_CIMPORTS = ("libc.time", "libc.stdio", "posix")
IO_CALLS = {"open", "print", "input"}

# Other people's packages, and which rooms may need them; pyproject.toml declares each.
THIRD_PARTY = {
    "records": {"crc32c", "lz4"},
    "transports": {"gevent", "gssapi", "trio"},
    "clients": {"cryptography", "jwt"},
    "embedded": {"crc32c", "pytest"},
    "broker": {"crc32c"},
    "pipeline": {"confluent_kafka", "matplotlib", "pandas", "py4j", "pyarrow", "pyspark"},
    "cli": {"click", "rich", "confluent_kafka"},
}

CODE = {".py", ".pyx", ".pxd", ".pyi", ".sh"}
TEXT = CODE | {".md", ".toml", ".xml", ".txt", ".yml", ".yaml", ".cfg", ""}
NOT_OURS = {".git", ".venv", ".cache", "build", "dist", "target", "__pycache__", "results"}
GENERATED = ("kcore/wire/messages/",)
PACKED = {".bz2", ".gz", ".jar", ".tar", ".tgz", ".whl", ".xz", ".zip"}
LINE_COLUMNS_MAX = 100
MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70

PYX_IMPORT = re.compile(
    r"^\s*(?:from\s+([\w.]+)\s+c?import\s+\(?(.*)|c?import\s+(.+))", re.MULTILINE
)
MODULE_NAME = re.compile(r"kcore(\.\w+)+")
LEFT_OVER = re.compile("|".join((r"\bTO" + r"DO\b", r"\bFIX" + r"ME\b", r"\bXX" + r"X\b")))
MACHINE_PATH = re.compile(r"(?<![\w.~$}*/-])/(?:work|root|tmp|home|opt|Users)/\w")


def files(root: Path, suffixes: set[str]) -> Iterator[Path]:
    """Every file of the tree that is ours, by suffix, in a steady order."""
    for path in sorted(root.iterdir()):
        if path.name in NOT_OURS or path.is_symlink() or path.name.startswith("."):
            continue
        if path.is_dir():
            if not path.name.endswith(".egg-info"):
                yield from files(path, suffixes)
        elif path.suffix in suffixes:
            yield path


def place(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def module_of(root: Path, path: Path) -> str:
    """The dotted name under which a file of the package is imported."""
    parts = list(path.relative_to(root).with_suffix("").parts)
    if parts[0] in BESIDE:
        parts.insert(0, "kcore")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_files(root: Path) -> list[Path]:
    """Every source file of the package, compiled ones and their declarations too."""
    folders = [root / "kcore", *(root / name for name in BESIDE)]
    wanted = {".py", ".pyx", ".pxd", ".pyi"}
    return [path for folder in folders if folder.is_dir() for path in files(folder, wanted)]


def room_of(module: str) -> str | None:
    """The room a module of the package belongs to; None for others and for `kcore` itself."""
    parts = module.split(".")
    if parts[0] != "kcore" or len(parts) < 2:
        return None
    return "leaves" if parts[1] in LEAVES else parts[1]


@cache
def public_names(root: Path) -> dict[str, str]:
    """`kcore`'s lazily found names -> the module each one really is in."""
    facade = root / "kcore" / "__init__.py"
    for node in ast.parse(facade.read_text()).body if facade.exists() else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
            return ast.literal_eval(node.value)
    return {}


def imported_from(root: Path, module: str, name: str) -> str:
    """What `from module import name` really imports."""
    if module == "kcore":
        return public_names(root).get(
            name, f"kcore.{name}" if name in RANK or name in LEAVES else module
        )
    return module


class Found(NamedTuple):
    """What a .py file has: modules that it imports, at any depth of it, by name in a string too;
    line and name of the calls that no import gives away.
    """

    imports: frozenset[str]
    io_calls: tuple[tuple[int, str], ...]


@cache  # for each of the rules that ask
def look_through(root: Path, path: Path, text: str) -> Found:
    own = module_of(root, path).split(".")
    package = own if path.stem == "__init__" else own[:-1]
    found: set[str] = set()
    calls: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(text, str(path))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found.update(imported_from(root, module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Constant) and MODULE_NAME.fullmatch(str(node.value)):
            found.add(str(node.value))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) in IO_CALLS:
            calls.append((node.lineno, node.func.id))
    return Found(frozenset(found), tuple(calls))


def cython_imports(root: Path, path: Path) -> set[str]:
    """Modules that a .pyx or .pxd file imports or cimports."""
    found: set[str] = set()
    own = module_of(root, path).split(".")
    for module, names, plain in PYX_IMPORT.findall(path.read_text()):
        if plain:
            found.update(part.split()[0] for part in plain.split("#")[0].split(",") if part.split())
            continue
        level = len(module) - len(module.lstrip("."))
        full = ".".join([*own[:-level], module.lstrip(".")]).rstrip(".") if level else module
        listed = [part.split()[0] for part in names.split("#")[0].split(",") if part.split()]
        found.update(imported_from(root, full, name) for name in listed or ["*"])
    return found


def imports(root: Path, path: Path) -> set[str] | frozenset[str]:
    if path.suffix in {".pyx", ".pxd"}:
        return cython_imports(root, path)
    return look_through(root, path, path.read_text()).imports


def wrong_layers(root: Path) -> list[str]:
    """Imports that point down, or across to another room of the same band."""
    wrong = []
    for path in package_files(root):
        own = room_of(module_of(root, path))
        if own is None:  # kcore/__init__.py, which names the public classes lazily
            continue
        if own not in RANK:
            wrong.append(f"{place(root, path)}: room {own} is in no band")
            continue
        for module in sorted(imports(root, path)):
            other = room_of(module)
            if other is None or other == own:
                continue
            across = {own, other} & CLIENT_SIDE and {own, other} & BROKER_SIDE
            if across or RANK.get(other, len(BANDS)) >= RANK[own]:
                wrong.append(f"{place(root, path)}: {own} imports {module}")
    return wrong


def client_room_of(module: str) -> str:
    """The room of a module of clients/: `consumer` of `kcore.clients.consumer.verbs`."""
    room = [*module.split("."), ""][2]
    return room if room in CLIENT_ROOMS else ""


def wrong_client_rooms(root: Path) -> list[str]:
    """Imports between the rooms of clients/ that `CLIENT_ROOMS` does not have."""
    wrong = []
    for path in package_files(root):
        module = module_of(root, path)
        if room_of(module) != "clients":
            continue
        own = client_room_of(module)
        fine = {own, *CLIENT_ROOMS[own]}
        wrong += [
            f"{place(root, path)}: clients/{own} imports {other}"
            for other in sorted(imports(root, path))
            if room_of(other) == "clients" and client_room_of(other) not in fine
        ]
    return wrong


def io_in_core(root: Path) -> list[str]:
    """Imports and calls in `kcore/` that read a clock, a socket, chance, or a file."""
    wrong = []
    for path in files(root / "kcore", {".py", ".pyx", ".pxd", ".pyi"}):
        wrong += [
            f"{place(root, path)}: imports {module}"
            for module in sorted(imports(root, path))
            if module.split(".")[0] in IO_MODULES or module.startswith(IO_CIMPORTS)
        ]
        if path.suffix == ".py":
            wrong += [
                f"{place(root, path)}:{line}: calls {name}()"
                for line, name in look_through(root, path, path.read_text()).io_calls
            ]
    return wrong


def undeclared(root: Path) -> list[str]:
    """Imports of packages that are neither the standard library's, nor ours, nor this room's."""
    wrong = []
    for path in package_files(root):
        room = room_of(module_of(root, path)) or "kcore"
        allowed = {"kcore", "cython", "libc", "cpython"} | THIRD_PARTY.get(room, set())
        if path.suffix == ".pyi":
            allowed.add("typing_extensions")  # type checkers bring it, and nothing else reads stubs
        for module in sorted(imports(root, path)):
            top = module.split(".")[0]
            if top not in sys.stdlib_module_names and top not in allowed:
                wrong.append(f"{place(root, path)}: {room} imports {module}")
    return wrong


def long_lines(root: Path) -> list[str]:
    return [
        f"{place(root, path)}:{number}: {len(line)} columns"
        for path in files(root, CODE)
        if not place(root, path).startswith(GENERATED)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LINE_COLUMNS_MAX
    ]


def long_modules(root: Path) -> list[str]:
    return [
        f"{place(root, path)}: {count} lines"
        for path in files(root, CODE)
        if not place(root, path).startswith(GENERATED)
        if (count := len(path.read_text().splitlines())) > MODULE_LINES_MAX
    ]


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All below a node, at any depth: what is in expressions is not looked at."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, part, ()):
            if isinstance(child, ast.stmt):
                yield child
            yield from statements(child)


def long_functions(root: Path) -> list[str]:
    wrong = []
    for path in files(root, {".py"}):
        if place(root, path).startswith(GENERATED):
            continue
        for node in statements(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                count = (node.end_lineno or node.lineno) - node.lineno + 1
                if count > FUNCTION_LINES_MAX:
                    wrong.append(f"{place(root, path)}:{node.lineno}: {node.name}, {count} lines")
    return wrong


def _lines_with(root: Path, what: re.Pattern[str], but_in: tuple[str, ...]) -> list[str]:
    return [
        f"{place(root, path)}:{number}: {line.strip()}"
        for path in files(root, TEXT)
        if not place(root, path).startswith(but_in)
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if what.search(line)
    ]


def left_overs(root: Path) -> list[str]:
    """Notes to oneself: what is missing is done, or in the README, or in an issue."""
    return _lines_with(root, LEFT_OVER, ())


def machine_paths(root: Path) -> list[str]:
    """Paths of the machine that somebody worked on."""
    return _lines_with(root, MACHINE_PATH, ("tests/",))


def unlisted_packages(root: Path) -> list[str]:
    """Folders of the package that pyproject.toml does not install, and the other way round."""
    settings = tomllib.loads((root / "pyproject.toml").read_text())
    listed = set(settings["tool"]["setuptools"]["packages"])
    data = set(settings["tool"]["setuptools"]["package-data"])
    present = {module_of(root, path.parent / "__init__.py") for path in package_files(root)}
    missing = [f"{name} is not in pyproject.toml's packages" for name in sorted(present - listed)]
    return missing + [f"{name} is no folder here" for name in sorted(listed - present - data)]


def unnamed_rooms(root: Path) -> list[str]:
    """Rooms that ARCHITECTURE.md says nothing about."""
    text = (root / "ARCHITECTURE.md").read_text()
    rooms = [path.name for path in (root / "kcore").iterdir() if path.is_dir()]
    wanted = [f"{room}/" for room in [*rooms, *BESIDE] if room != "__pycache__"]
    wanted += [f"{leaf}.py" for leaf in LEAVES if (root / "kcore" / f"{leaf}.py").exists()]
    return [f"ARCHITECTURE.md does not name {name}" for name in sorted(wanted) if name not in text]


def unnamed_modules(root: Path) -> list[str]:
    """Modules that ARCHITECTURE.md says nothing about, and those that it names and are gone."""
    named = set(re.findall(r"\w+\.(?:pyx|pxd|py)\b", (root / "ARCHITECTURE.md").read_text()))
    there = {place(root, path) for path in files(root, {".py", ".pyx", ".pxd"})}
    wanted = [
        path
        for path in map(Path, sorted(there))
        if path.parts[0] in {"kcore", *BESIDE} and path.parent.name not in TOLD_AS_ONE
        if path.suffix != ".pxd" and path.stem not in {"__init__", *LEAVES}
    ]
    missing = [f"{path} is not in ARCHITECTURE.md" for path in wanted if path.name not in named]
    known = {Path(name).name for name in there}
    return missing + [f"ARCHITECTURE.md: no {name} is there" for name in sorted(named - known)]


def untyped_extensions(root: Path) -> list[str]:
    """Compiled modules that mypy cannot see into."""
    return [
        f"{place(root, path)} has no .pyi beside it"
        for room in ("kcore", "clients")
        for path in files(root / room, {".pyx"})
        if not path.with_suffix(".pyi").exists()
    ]


def colliding_tests(root: Path) -> list[str]:
    """Test modules are imported by base name, so that two of one name hide each other."""
    seen: dict[str, Path] = {}
    wrong = []
    for path in files(root / "tests", {".py"}):
        if path.name == "__init__.py":
            wrong.append(f"{place(root, path)}: tests are no packages")
        elif path.name in seen and path.name != "conftest.py":  # pytest keeps these apart
            wrong.append(
                f"{place(root, path)}: the name is taken by {place(root, seen[path.name])}"
            )
        seen[path.name] = path
    return wrong


def packed_files(root: Path) -> list[str]:
    """Downloads and built packages: nobody can read them, and a history never forgets them."""
    return [f"{place(root, path)}: is packed" for path in files(root, PACKED)]


RULES = [
    wrong_layers,
    wrong_client_rooms,
    io_in_core,
    undeclared,
    long_lines,
    long_modules,
    long_functions,
    left_overs,
    machine_paths,
    unlisted_packages,
    unnamed_rooms,
    unnamed_modules,
    untyped_extensions,
    colliding_tests,
    packed_files,
]
