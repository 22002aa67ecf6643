"""From a profiler trace to a table that can be read, compared and kept."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple


class Event(NamedTuple):
    """Something that a thread did.

    Attributes:
        name: TensorFlow's name of it; operations are `path/of/node:Type`.
        start: When it began.
        duration: How long it took, in the same unit.
    """

    name: str
    start: int
    duration: int


class Total(NamedTuple):
    """All events of one label."""

    label: str
    self_time: int
    number: int


def totals(threads: Iterable[Sequence[Event]]) -> list[Total]:
    """Returns self time and number of the events of each label, the longest first.

    The self time of an event is its duration without the events that lie inside it on the same
    thread. Events of a thread lie inside each other or apart.
    """
    times: dict[str, int] = defaultdict(int)
    counts: dict[str, int] = defaultdict(int)
    for events in threads:
        around: list[Event] = []
        # Of two that begin together, the longer is the outer one.
        for event in sorted(events, key=lambda event: (event.start, -event.duration)):
            while around and event.start >= around[-1].start + around[-1].duration:
                around.pop()
            if around:
                times[label(around[-1].name)] -= event.duration
            times[label(event.name)] += event.duration
            counts[label(event.name)] += 1
            around.append(event)
    found = [Total(name, times[name], counts[name]) for name in times]
    return sorted(found, key=lambda total: (-total.self_time, total.label))


def label(name: str) -> str:
    """Returns `Type (node)` of an operation, without the path of the node; else the name.

    The node is left out where its name says no more than the type.
    """
    path, separator, kind = name.rpartition(":")
    if not separator or " " in name or ":" in path:
        return name
    node = path.rpartition("/")[2]
    return kind if node == kind else f"{kind} ({node})"


def threads_of(space: Any) -> list[list[Event]]:
    """Returns the events of TensorFlow's threads in an XSpace, times in picoseconds.

    Python's is left out: it waits for them.
    """
    return [
        [
            Event(plane.event_metadata[event.metadata_id].name, event.offset_ps, event.duration_ps)
            for event in line.events
        ]
        for plane in space.planes
        for line in plane.lines
        if line.name.startswith("tf_")
    ]
