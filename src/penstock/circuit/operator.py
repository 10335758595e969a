"""The operator interface, and the registry of all operators.

An operator is a frozen description (its parameters) with one method, ``step``: deltas in, delta out. It owns
no mutable state. Its state is in *arrangements* (spines of batches) that the worker keeps for it: ``step``
reads them as they were before the step and stages additions, and only when the whole step is accepted on
every worker does the worker add them. So a step that fails anywhere leaves no trace, and the same operator
runs unchanged in a resident worker or in a Spark stage.

The registry declares each operator as data: its name, how it is incremental, and what it keeps. The planner,
``explain``, the documentation and the tests read it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from functools import cached_property
from typing import ClassVar, Protocol, TypeVar

import pyarrow as pa

from penstock.circuit.delta import Arranged, Delta, net_of
from penstock.errors import EvaluationError
from penstock.trace import Batch, KeyWords
from penstock.zset import Hashes, HashSeed

__all__ = ["REGISTRY", "Flow", "Incremental", "Operator", "OperatorInfo", "State", "WordsOf", "operator"]

Flow = Delta | Arranged
WordsOf = Callable[[Sequence[pa.Array], int, HashSeed], KeyWords]


class Incremental(Enum):
    """How an operator derives its output change from its input changes."""

    SOURCE = "source"
    LINEAR = "linear"  # the change of the output is the operator applied to the change of the input
    BILINEAR = "bilinear"  # three terms: each side's change against the other side, and both changes
    GROUPS = "touched groups"  # non-linear: recomputed for the keys that changed, from their state
    SINK = "sink"


class State(Protocol):
    """An operator's view of its own arrangements, and of the step it runs in."""

    seed: HashSeed
    opening: bool
    """True in the step that fills new arrangements: everything before is empty, and the inputs bring all
    there is. What an operator stages for an arrangement that exists already is dropped."""

    def before(self, slot: int) -> Sequence[Batch]:
        """The batches of arrangement ``slot`` as they were before this step."""
        ...

    def stored(self, slot: int) -> Sequence[Batch]:
        """The batches of arrangement ``slot`` even in an opening step (only new tables ask)."""
        ...

    def stage(self, slot: int, batch: Batch) -> None:
        """Adds a batch to arrangement ``slot`` if the step is accepted."""
        ...

    def owns(self, key: Hashes) -> bool:
        """Whether this worker holds the shard of the (single) key."""
        ...

    def count(self, what: str, number: int) -> None:
        """Adds to a counter of the step's report."""
        ...


@dataclass(frozen=True)
class Operator(ABC):
    """Base of all operators; ``schema`` describes the columns of the output."""

    schema: pa.Schema

    info: ClassVar[OperatorInfo]

    @abstractmethod
    def step(self, inputs: Sequence[Flow], state: State) -> Flow:
        """Runs one step."""

    def run(self, inputs: Sequence[Flow], state: State) -> Flow:
        """Runs one step, and if an expression fails, once more without the rows that cancel out.

        A delta may hold rows that never existed: a join of two rows, one of which was deleted as the other
        was inserted."""
        try:
            return self.step(inputs, state)
        except EvaluationError:
            net = [net_of(flow, state.seed) for flow in inputs]
            if self.slots or sum(map(len, net)) == sum(map(len, inputs)):
                raise
            return self.step(net, state)

    @cached_property
    def nothing(self) -> Delta:
        """An empty change, built once: most operators have one in a small step."""
        return Delta.empty(self.schema)

    def idle(self, state: State) -> Flow:
        """The output of a step in which no input changed."""
        return self.nothing

    @property
    def opens(self) -> bool:
        """Whether the operator emits something in a backfill step even if no input does."""
        return False

    @property
    def readable(self) -> bool:
        """Whether arrangement 0 holds the output of all steps so far, so that what is new can be filled from
        it and the operator need not run: see :meth:`contents`."""
        return False

    def contents(self, stored: Sequence[Batch]) -> Flow:
        """For a readable operator: the sum of its output so far as one change, from the batches of
        arrangement 0."""
        raise NotImplementedError(f"{self.info.name} does not keep its output")

    def is_insert_only(self, inputs: Sequence[bool]) -> bool:
        """Whether the output is insert-only; ``inputs`` says the same of each input. An operator that turns
        insertions into insertions passes it on."""
        return self.info.incremental in (Incremental.LINEAR, Incremental.BILINEAR) and all(inputs)

    @property
    def is_static(self) -> bool:
        """Whether the output of a source is frozen once rows of others have been joined with it."""
        return False

    @property
    def reads(self) -> frozenset[int] | None:
        """The columns of its one input that the operator uses; None: all."""
        return None

    @property
    def fan(self) -> int:
        """How many batches of similar size the operator's arrangements may have (see ``Spine``): few where
        steps look rows up in them, more where they are only read as a whole."""
        return 2

    @property
    def arranged(self) -> bool:
        """Whether the output is an :class:`Arranged`, integrated in arrangement 0."""
        return False

    @property
    def slots(self) -> int:
        """How many arrangements the operator keeps: one if the registry says that it keeps something."""
        return 1 if self.info.state else 0

    @property
    def words(self) -> WordsOf | None:
        """How the order words of rows in the operator's one arrangement are computed from their values, so
        that they need not be stored; None if that is not possible."""
        return None

    def describe(self) -> str:
        """The parameters, for people."""
        return ""

    def identity(self) -> str:
        """The parameters as text such that equal text means equal computation (names of columns left out)."""
        parameters = [repr(getattr(self, f.name)) for f in fields(self) if f.name != "schema"]
        return "; ".join([", ".join(str(kind) for kind in self.schema.types), *parameters])


@dataclass(frozen=True)
class OperatorInfo:
    """One line of the registry."""

    name: str
    incremental: Incremental
    state: str
    """What the operator keeps, in words; empty if nothing, and then it has no arrangement."""


REGISTRY: dict[str, type[Operator]] = {}

_Op = TypeVar("_Op", bound=type[Operator])


def operator(name: str, incremental: Incremental, state: str = "") -> Callable[[_Op], _Op]:
    """Declares an operator class in the registry."""

    def register(cls: _Op) -> _Op:
        cls.info = OperatorInfo(name, incremental, state)
        REGISTRY[name] = cls
        return cls

    return register
