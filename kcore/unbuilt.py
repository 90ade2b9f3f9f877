"""What is said where kcore's own modules are missing: Python has found the source (the folder that
it was started in comes first), of which the other packages lie elsewhere and nothing is compiled.
"""

from __future__ import annotations

from pathlib import PurePath


def advised(missing: ModuleNotFoundError) -> ModuleNotFoundError:
    """The error with what to do, if one of ours is missing; else as it is."""
    if missing.name is None or not missing.name.startswith("kcore."):
        return missing
    return ModuleNotFoundError(
        f"kcore is imported from its source, which is not built, in {PurePath(__file__).parent} "
        f"(there is no {missing.name}): run Python in another folder, where what was installed is "
        "found, or `pip install -e .` there",
        name=missing.name,
    )
