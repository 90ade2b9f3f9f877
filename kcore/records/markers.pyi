from kcore.structs import ControlRecord as ControlRecord
