"""Rules for commands at the root of a plan: what is written is what their query puts out."""

from headwater.capture.plan.lineage import Column, Effect, Relation, merge
from headwater.capture.plan.reader import Reader, RelationRule, Scope, together
from headwater.capture.plan.rules.basic import replace
from headwater.capture.plan.sources import expr_id
from headwater.capture.plan.tree import Node

_APPENDS = (
    "AppendData",
    "OverwriteByExpression",
    "OverwritePartitionsDynamic",
    "InsertIntoHadoopFsRelationCommand",
    "InsertIntoHiveTable",
    "InsertIntoHiveDirCommand",
    "InsertIntoDataSourceCommand",
    "InsertIntoDataSourceDirCommand",
    "InsertIntoStatement",
    "SaveIntoDataSourceCommand",
    "CreateTableAsSelect",
    "ReplaceTableAsSelect",
    "CreateDataSourceTableAsSelectCommand",
    "CreateHiveTableAsSelectCommand",
    "OptimizedCreateHiveTableAsSelectCommand",
    "LoadDataCommand",
)
# What Delta makes of DELETE, UPDATE and MERGE.
_DELTA_CLAUSES = ("matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses")
_INSTRUCTIONS = ("matchedInstructions", "notMatchedInstructions", "notMatchedBySourceInstructions")


def kind_of(root: Node) -> str | None:
    """The command at the root of a plan that writes, or None for a plain query."""
    return root.type_name if root.type_name in LAZY else None


def _write(
    reader: Reader, node: Node, _inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    query = node.tree("query")
    return reader.relation(query, outer) if query is not None else Relation(())


def _delete(
    reader: Reader, node: Node, _inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    """The rows that remain are the table's own, less those of the condition."""
    table = _target(reader, node, "target" if node.tree("target") else "table", outer)
    scope = Scope.over((table,), outer)
    return replace(table, rows=reader.edges(node.trees("condition"), scope, Effect.FILTER))


def _update(
    reader: Reader, node: Node, _inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    table = _target(reader, node, "table", outer)
    scope = Scope.over((table,), outer)
    rows = reader.edges(node.trees("condition"), scope, Effect.CONDITIONAL)
    return replace(_assigned(reader, node.trees("assignments"), table, scope), rows=rows)


def _merge(
    reader: Reader, node: Node, _inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    """Each column is the target's own, or what any of the actions assigns to it."""
    target = _target(reader, node, "targetTable", outer)
    source = _target(reader, node, "sourceTable", outer)
    scope = Scope.over((target, source), outer)
    rows = reader.edges(node.trees("mergeCondition"), scope, Effect.JOIN)
    actions = [
        action
        for field in ("matchedActions", "notMatchedActions", "notMatchedBySourceActions")
        for action in node.trees(field)
    ]
    conditions = [tree for action in actions for tree in action.trees("condition")]
    rows |= reader.edges(conditions, scope, Effect.CONDITIONAL)
    assignments = tuple(tree for action in actions for tree in action.trees("assignments"))
    written = _assigned(reader, assignments, target, scope)
    both = together((target, source))
    return replace(both, written.columns, rows)


def _delta_update(
    reader: Reader, node: Node, _inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    """Each column is what it was, or the expression at its place."""
    table = _target(reader, node, "target", outer)
    scope = Scope.over((table,), outer)
    rows = reader.edges(node.trees("condition"), scope, Effect.CONDITIONAL)
    values = [reader.column(value, scope) for value in node.trees("updateExpressions")]
    columns = tuple(
        (i, name, merge((column, *values[n : n + 1])))
        for n, (i, name, column) in enumerate(table.columns)
    )
    return replace(table, columns, rows)


def _delta_merge(
    reader: Reader, node: Node, _inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    """As of any MERGE, but columns are assigned by their names."""
    target = _target(reader, node, "target", outer)
    source = _target(reader, node, "source", outer)
    scope = Scope.over((target, source), outer)
    clauses = [clause for field in _DELTA_CLAUSES for clause in node.trees(field)]
    rows = reader.edges(node.trees("condition"), scope, Effect.JOIN)
    conditions = [tree for clause in clauses for tree in clause.trees("condition")]
    rows |= reader.edges(conditions, scope, Effect.CONDITIONAL)
    values = [
        (str(action.get("targetColNameParts")).casefold(), reader.column(action.children[0], scope))
        for clause in clauses
        for action in clause.trees("actions")
    ]
    columns = tuple(
        (i, name, merge([column, *(value for parts, value in values if _names(parts, name))]))
        for i, name, column in target.columns
    )
    return replace(together((target, source)), columns, rows)


def _names(parts: str, column: str) -> bool:
    """Whether a name written as `[a, b]` is that of a column or of a field in it."""
    return f"{parts.rstrip(']')}, ".startswith(f"[{column.casefold()}, ")


def _row_level(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    """A rewritten MERGE or UPDATE: only the table's own columns are written."""
    written = _write(reader, node, inputs, outer)
    table = _target(reader, node, "table", outer) if node.tree("table") else Relation(())
    names = {name for _, name, _ in table.columns}
    columns = tuple(c for c in written.columns if c[1] in names or not names)
    return replace(written, columns)


def _row_delta(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    """A MERGE, UPDATE or DELETE that writes changes only: all other values of the table stay."""
    written = _write(reader, node, inputs, outer)
    table = _target(reader, node, "table", outer)
    changed = {name: column for _, name, column in written.columns}
    columns = tuple(
        (i, name, merge([column, changed[name]]) if name in changed else column)
        for i, name, column in table.columns
    )
    return replace(together((written, table)), columns)


def _merge_rows(
    reader: Reader, node: Node, inputs: tuple[Relation, ...], outer: Scope | None
) -> Relation:
    """Each row by the first instruction whose condition holds."""
    scope = Scope.over(inputs, outer)
    instructions = [tree for field in _INSTRUCTIONS for tree in node.trees(field)]
    conditions = [tree for i in instructions for tree in i.trees("condition")]
    rows = reader.edges(conditions, scope, Effect.CONDITIONAL)
    lists = [i.trees(field) for i in instructions for field in ("output", "otherOutput")]
    values = [[reader.column(e, scope) for e in expressions] for expressions in lists]
    columns = tuple(
        (expr_id(a), str(a.get("name")), merge(row[n] for row in values if n < len(row)))
        for n, a in enumerate(node.trees("output"))
    )
    return replace(inputs[0], columns, rows)


def _target(reader: Reader, node: Node, field: str, outer: Scope | None) -> Relation:
    plan = node.tree(field)
    return reader.relation(plan, outer) if plan is not None else Relation(())


def _assigned(
    reader: Reader, assignments: tuple[Node, ...], table: Relation, scope: Scope
) -> Relation:
    values: dict[int, list[Column]] = {}
    for assignment in assignments:
        key, value = assignment.children
        expr = (key.get("exprId") or {}).get("id")
        if expr is not None:
            values.setdefault(int(expr), []).append(reader.column(value, scope))
    columns = tuple(
        (i, name, merge([column, *values.get(i, ())])) for i, name, column in table.columns
    )
    return replace(table, columns)


_COMMANDS: dict[str, RelationRule] = {
    **dict.fromkeys(_APPENDS, _write),
    "ReplaceData": _row_level,
    "WriteDelta": _row_delta,
    "DeleteFromTable": _delete,
    "UpdateTable": _update,
    "MergeIntoTable": _merge,
    "DeleteCommand": _delete,
    "UpdateCommand": _delta_update,
    "MergeIntoCommand": _delta_merge,
}
LAZY = frozenset(_COMMANDS)

RULES: dict[str, RelationRule] = {**_COMMANDS, "MergeRows": _merge_rows}
