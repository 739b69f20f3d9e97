"""The file of a Perfetto trace: tracks with slices, instants and counters, written as they come.

The format is protobuf, written with the classes of the package `perfetto`; ui.perfetto.dev and its
trace processor read it. Names are interned. A trace counts whole nanoseconds, a run picoseconds.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    TracePacket,
    TrackDescriptor,
    TrackEvent,
)
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NS_PER_S = 1e9
SEQUENCE = 1
"""All packets are of one writer; its interned names count from the first."""


def nanoseconds(seconds: float) -> int:
    """Return an instant as a trace has it."""
    return round(seconds * NS_PER_S)


class Tracks:
    """Writes a trace into a file.

    The events of a track have to be written in order of time; tracks may be written one after the
    other. Events that share a number in `flows` are joined by an arrow, in order of time.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._builder = StreamingTraceProtoBuilder(file)
        self._tracks: dict[tuple[str, ...], int] = {}
        self._names: dict[str, int] = {}
        self._keys: dict[str, int] = {}
        first = self._packet()
        first.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        self._builder.write_packet(first)

    def track(
        self, path: tuple[str, ...], rank: int | None = None, *, is_counter: bool = False
    ) -> int:
        """Return the number of a track; one that is not there is made, and those above it.

        Args:
            path: the names of the tracks from the outermost to this one.
            rank: its place among those of the same parent; by default the order in which they are
                made.
            is_counter: whether it has values instead of slices and instants.

        """
        number = self._tracks.get(path)
        if number is None:
            parent = self.track(path[:-1]) if len(path) > 1 else 0
            number = self._tracks[path] = len(self._tracks) + 1
            packet = self._packet()
            track = packet.track_descriptor
            track.uuid, track.name = number, path[-1]
            track.child_ordering = TrackDescriptor.EXPLICIT
            track.sibling_order_rank = number if rank is None else rank
            if parent:
                track.parent_uuid = parent
            if is_counter:
                track.counter.SetInParent()
            self._builder.write_packet(packet)
        return number

    def slice(
        self,
        track: int,
        span: tuple[int, int],
        name: str,
        details: Mapping[str, Any] | None = None,
        flows: Sequence[int] = (),
    ) -> None:
        """Add a slice from one nanosecond to another."""
        self._event(track, span[0], TrackEvent.TYPE_SLICE_BEGIN, name, details, flows)
        self._event(track, span[1], TrackEvent.TYPE_SLICE_END)

    def instant(
        self,
        track: int,
        at: int,
        name: str,
        details: Mapping[str, Any] | None = None,
        flows: Sequence[int] = (),
    ) -> None:
        """Add an instant."""
        self._event(track, at, TrackEvent.TYPE_INSTANT, name, details, flows)

    def count(self, track: int, at: int, value: float) -> None:
        """Add the value of a counter from a nanosecond on."""
        packet = self._packet()
        packet.timestamp = at
        event = packet.track_event
        event.type, event.track_uuid = TrackEvent.TYPE_COUNTER, track
        event.double_counter_value = value
        self._builder.write_packet(packet)

    def _event(
        self,
        track: int,
        at: int,
        kind: TrackEvent.Type,
        name: str = "",
        details: Mapping[str, Any] | None = None,
        flows: Sequence[int] = (),
    ) -> None:
        packet = self._packet()
        packet.timestamp = at
        event = packet.track_event
        event.type, event.track_uuid = kind, track
        if name:
            event.name_iid = _interned(self._names, packet.interned_data.event_names, name)
        event.flow_ids.extend(flows)
        for key, value in (details or {}).items():
            note = event.debug_annotations.add()
            note.name_iid = _interned(self._keys, packet.interned_data.debug_annotation_names, key)
            if isinstance(value, str):
                note.string_value = value
            elif isinstance(value, int):
                note.int_value = value
            else:
                note.double_value = value
        self._builder.write_packet(packet)

    def _packet(self) -> TracePacket:
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id = SEQUENCE
        packet.sequence_flags = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        return packet


def _interned(known: dict[str, int], entries: Any, name: str) -> int:  # noqa: ANN401  of protobuf
    """Return the number of a name; the packet of these entries defines one that is new."""
    number = known.get(name)
    if number is None:
        number = known[name] = len(known) + 1
        entries.add(iid=number, name=name)
    return number
