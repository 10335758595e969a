"""Calls into Spark's JVM that deep and wide queries can take.

Catalyst walks over its trees by recursion. A call over py4j runs in a thread with the JVM's default stack, a
megabyte, which the parser fills with a few hundred nested functions and ``toJSON`` with fewer; so what walks
over a whole tree is called in a thread of its own with a large stack (:meth:`Jvm.deep`). And a call costs a
fraction of a millisecond, too much for one per node; so what is asked of all nodes is gathered in the JVM, by
functions that are made of method handles there. Nothing is called back.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors.exceptions.captured import convert_exception

__all__ = [
    "DATASET",
    "PARSER",
    "QUERY_EXECUTION",
    "QUERY_PLAN",
    "SESSION",
    "TREE_NODE",
    "Jvm",
    "overflowed_stack",
    "spark_jvm",
]

STACK_BYTES = 1 << 28  # address space; what is not used of it is never allocated

_CATALYST = "org.apache.spark.sql.catalyst."
TREE_NODE = _CATALYST + "trees.TreeNode"
QUERY_PLAN = _CATALYST + "plans.QueryPlan"
QUERY_EXECUTION = "org.apache.spark.sql.execution.QueryExecution"
PARSER = _CATALYST + "parser.ParserInterface"
SESSION = "org.apache.spark.sql.classic.SparkSession"
DATASET = "org.apache.spark.sql.classic.Dataset"
_TRANSFORM = "transformAllExpressionsWithSubqueries"
_CASE = _CATALYST + "expressions.CaseWhen"
_FEW_CASES = 3  # that may be inside of each other
_SEQ = "scala.collection.immutable.Seq"
_FUNCTION = "scala.Function1"


class Jvm:
    """Spark's JVM, given as py4j's ``view`` of it. Method handles are looked up once."""

    def __init__(self, view: Any) -> None:
        self._jvm = view
        self._handles: dict[tuple[str, str, int], Any] = {}
        self._classes: dict[str, Any] = {}

    # ---- deep calls -------------------------------------------------------------------------------

    def deep(self, owner: str, method: str, target: Any, *args: Any) -> Any:
        """``target.method(*args)`` in a thread with a large stack. ``owner`` is the class or interface that
        has the method, which must be the only one of its name with so many parameters. Fails as a call over
        py4j does."""
        handle = self._handle(owner, method, len(args))
        for value in (target, *args):
            handle = self._with(handle, 0, value)
        task = self._jvm.java.util.concurrent.FutureTask(self._as("java.util.concurrent.Callable", handle))
        self._jvm.java.lang.Thread(None, task, "penstock-planning", STACK_BYTES).start()
        try:
            return task.get()
        except Py4JJavaError as error:
            cause = error.java_exception.getCause()
            raise convert_exception(cause) or Py4JJavaError(error.errmsg, cause) from None

    # ---- trees as text ----------------------------------------------------------------------------

    def to_json(self, plan: Any) -> str:
        """``TreeNode.toJSON`` of a plan.

        It prints the parts of a CASE twice, as children and as a field, so those of a CASE inside of another
        four times, and so on. Where there are several, each is printed as a function of its parts instead,
        and gets its name back in the text."""
        _, expressions = self.everything(plan)
        cases = [expressions.get(i) for i, kind in enumerate(self.kinds(expressions)) if kind == "CaseWhen"]
        if len(cases) <= _FEW_CASES:
            return str(self.deep(TREE_NODE, "toJSON", plan))
        rule = self._jvm.scala.collection.mutable.HashMap()  # which is a partial function
        analysis = self._jvm.org.apache.spark.sql.catalyst.analysis
        function = getattr(getattr(analysis, "UnresolvedFunction$"), "MODULE$")
        self.deep("java.lang.Object", "hashCode", plan)  # nodes keep it, so that looking them up is not deep
        for case in cases:
            rule.update(case, function.apply("case", case.children(), False))
        text = self.deep(TREE_NODE, "toJSON", self.deep(QUERY_PLAN, _TRANSFORM, plan, rule))
        return str(text).replace(f'"class":"{_CATALYST}analysis.UnresolvedFunction"', f'"class":"{_CASE}"')

    # ---- all nodes of a tree ----------------------------------------------------------------------

    def preorder(self, tree: Any) -> Any:
        """The nodes of a plan or an expression as a Java list, in the order in which ``toJSON`` has them."""
        nodes = self._jvm.java.util.ArrayList()
        self.deep(TREE_NODE, "foreach", tree, self._adding_to(nodes))
        return nodes

    def everything(self, plan: Any) -> tuple[Any, Any]:
        """All plan nodes and all expressions of a plan, subqueries included, as Java lists."""
        plans, expressions = self._jvm.java.util.ArrayList(), self._jvm.java.util.ArrayList()
        self.deep(QUERY_PLAN, "foreachWithSubqueries", plan, self._adding_to(plans))
        add_all = self._as(
            _FUNCTION, self._with(self._handle(TREE_NODE, "foreach", 1), 1, self._adding_to(expressions))
        )
        of_plan = self._handle(QUERY_PLAN, "expressions", 0)
        each = self._with(self._handle(_SEQ, "foreach", 1), 1, add_all)
        each = each.asType(each.type().changeParameterType(0, of_plan.type().returnType()))
        visit = self._jvm.java.lang.invoke.MethodHandles.filterReturnValue(of_plan, each)
        self.deep(QUERY_PLAN, "foreachWithSubqueries", plan, self._as(_FUNCTION, visit))
        return plans, expressions

    def kinds(self, nodes: Any) -> list[str]:
        """The class of each node of a Java list, without its package."""
        classes = self._mapped(nodes.stream(), "java.lang.Object", "getClass")
        return self._joined(self._mapped(classes, "java.lang.Class", "getSimpleName"), ",")

    def texts(self, nodes: Any, kind: str, separator: str) -> list[str]:
        """What the expressions of one class in a Java list print, if that has no ``separator`` in it."""
        test = self._with(
            self._handle("java.lang.Class", "isInstance", 1),
            0,
            self._class(_CATALYST + "expressions." + kind),
        )
        chosen = nodes.stream().filter(self._as("java.util.function.Predicate", test))
        return self._joined(self._mapped(chosen, "java.lang.Object", "toString"), separator)

    # ---- functions made of method handles ---------------------------------------------------------

    def _adding_to(self, nodes: Any) -> Any:
        return self._as(_FUNCTION, self._with(self._handle("java.util.ArrayList", "add", 1), 0, nodes))

    def _mapped(self, stream: Any, owner: str, method: str) -> Any:
        return stream.map(self._as("java.util.function.Function", self._handle(owner, method, 0)))

    def _joined(self, stream: Any, separator: str) -> list[str]:
        text = str(stream.collect(self._jvm.java.util.stream.Collectors.joining(separator)))
        return text.split(separator) if text else []

    def _class(self, name: str) -> Any:
        if name not in self._classes:
            loader = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
            self._classes[name] = self._jvm.java.lang.Class.forName(name, True, loader)
        return self._classes[name]

    def _handle(self, owner: str, method: str, parameters: int) -> Any:
        key = (owner, method, parameters)
        if key not in self._handles:
            found = next(
                candidate
                for candidate in self._class(owner).getMethods()
                if candidate.getName() == method and candidate.getParameterCount() == parameters
            )
            self._handles[key] = self._jvm.java.lang.invoke.MethodHandles.publicLookup().unreflect(found)
        return self._handles[key]

    def _with(self, handle: Any, place: int, value: Any) -> Any:
        """The handle with its argument at ``place`` given."""
        values = self._jvm.java.util.ArrayList()
        values.add(value)
        return self._jvm.java.lang.invoke.MethodHandles.insertArguments(handle, place, values.toArray())

    def _as(self, interface: str, handle: Any) -> Any:
        proxies = self._jvm.java.lang.invoke.MethodHandleProxies
        return proxies.asInterfaceInstance(self._class(interface), handle)


_known: list[tuple[Any, Jvm]] = []


def spark_jvm() -> Jvm:
    """The JVM of the running Spark."""
    context = SparkContext._active_spark_context
    assert context is not None
    if not _known or _known[0][0] is not context._jvm:
        _known[:] = [(context._jvm, Jvm(context._jvm))]
    return _known[0][1]


def overflowed_stack(error: BaseException) -> bool:
    """Whether a call failed because the JVM's stack was not large enough."""
    cause = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    return cause is not None and "StackOverflowError" in str(cause.toString())
