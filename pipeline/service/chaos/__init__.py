"""Injects faults into the service by a script, and records what really happened."""

from pipeline.service.chaos.connections import DroppableConnections
from pipeline.service.chaos.kinds import (
    FORMS,
    KINDS,
    Cut,
    Drip,
    DropAfter,
    DropBefore,
    Error,
    Fault,
    Form,
    Garbage,
    Gateway,
    IdleClose,
    Latency,
    Redirect,
    Refuse,
    Stall,
)
from pipeline.service.chaos.record import Record, Served
from pipeline.service.chaos.report import announced, outcomes
from pipeline.service.chaos.script import Script, read_script
from pipeline.service.chaos.server import FaultServer

__all__ = [
    "FORMS",
    "KINDS",
    "Cut",
    "Drip",
    "DropAfter",
    "DropBefore",
    "DroppableConnections",
    "Error",
    "Fault",
    "FaultServer",
    "Form",
    "Garbage",
    "Gateway",
    "IdleClose",
    "Latency",
    "Record",
    "Redirect",
    "Refuse",
    "Script",
    "Served",
    "Stall",
    "announced",
    "outcomes",
    "read_script",
]
