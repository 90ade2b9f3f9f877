"""What the reader asks of markers.pyx."""

from libc.stdint cimport uint8_t

from kcore.records.layout cimport BatchHeader

cdef list read_control(const uint8_t* at, const uint8_t* end, BatchHeader* head)
