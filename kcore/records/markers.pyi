from kcore.structs import ABORT as ABORT
from kcore.structs import COMMIT as COMMIT
from kcore.structs import ControlRecord as ControlRecord
