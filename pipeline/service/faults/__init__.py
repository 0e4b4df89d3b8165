"""The service on a bad night: faults by a script, and a true record of what happened."""

from pipeline.service.faults.connections import DroppableConnections
from pipeline.service.faults.kinds import (
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
from pipeline.service.faults.record import Record, Served
from pipeline.service.faults.script import Script, read_script
from pipeline.service.faults.server import FaultServer
from pipeline.service.faults.tale import announced, told

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
    "read_script",
    "told",
]
