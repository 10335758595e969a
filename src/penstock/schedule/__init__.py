"""Running a program inside one worker: handoffs, levels, state, commit."""

from penstock.schedule.change_log import STEP_COLUMN
from penstock.schedule.handoff import Handoff
from penstock.schedule.message import Message, first_level
from penstock.schedule.worker import Worker

__all__ = ["STEP_COLUMN", "Handoff", "Message", "Worker", "first_level"]
