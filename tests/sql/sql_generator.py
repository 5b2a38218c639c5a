"""Random tables, writes and queries for differential_test.py, as text that Sisal and PostgreSQL should treat alike.

Everything comes from one random.Random. Compound expressions stand in parentheses, which the shrinker relies on. What
PostgreSQL leaves open is avoided: order without ORDER BY, ties under LIMIT, sums of doubles that do not add exactly.
"""

from sql_expressions import CASTS, NUMBER_TYPES, TYPES, Expressions

DECLARED = {
    "int": ["integer", "integer", "smallint"],
    "big": ["bigint"],
    "num": ["numeric(8,2)", "numeric(12,4)", "numeric"],
    "dbl": ["double precision"],
    "text": ["text", "varchar(12)", "varchar", "char(5)"],
    "bool": ["boolean"],
    "date": ["date"],
    "ts": ["timestamp"],
}


class Column:
    def __init__(self, name, type_, declared="", not_null=False):
        self.name, self.type, self.declared, self.not_null = name, type_, declared, not_null


class Table:
    def __init__(self, name, columns, keys):
        self.name, self.columns, self.keys = name, columns, keys  # keys: lists of column names, unique
        self.indexes = []
        self.checks = []

    def create(self):
        parts = [f"{c.name} {c.declared}" + (" NOT NULL" if c.not_null else "") for c in self.columns]
        parts += [("PRIMARY KEY" if primary else "UNIQUE") + f" ({', '.join(names)})" for primary, names in self.keys]
        parts += [f"CHECK {condition}" for condition in self.checks]
        return f"CREATE TABLE {self.name} ({', '.join(parts)})"


class Query:
    """A statement's text, and how its answers are compared: `ordered`, and `loose` where equal values may differ in
    scale or sign of zero, because the statement picks one of several equal values."""

    def __init__(self, sql, ordered=False, loose=False):
        self.sql, self.ordered, self.loose = sql, ordered, loose


class Generator(Expressions):
    def __init__(self, rng):
        self.rng = rng
        self.tables = []
        self.alias_count = 0
        self.index_count = 0
        self.column_count = 0
        self.loose = False
        self.with_depth = False  # within a WITH
        self.big = False  # a table has many rows: no joins without an equality

    # ---- tables

    def make_tables(self):
        self.tables = [self.make_table(f"t{i}") for i in range(1, self.rng.randint(2, 4) + 1)]
        return [t.create() for t in self.tables]

    def make_table(self, name):
        columns = []
        for i in range(self.rng.randint(2, 6)):
            type_ = self.pick(TYPES + ["int", "int"])
            columns.append(Column(f"c{i}", type_, self.pick(DECLARED[type_]), self.chance(0.15)))
        keys = []
        if self.chance(0.7):
            names = self.some(columns, 2)
            keys.append((True, [c.name for c in names]))
            for c in names:
                c.not_null = True
        if self.chance(0.3):
            keys.append((False, [c.name for c in self.some(columns, 2)]))
        table = Table(name, columns, keys)
        while self.chance(0.25):
            condition = self.condition([(c.name, c.type) for c in columns], 1)
            if "SELECT" not in condition:
                table.checks.append(condition if self.chance(0.3) else f"({condition} OR {self.pick(columns).name} IS NULL)")
        return table

    def some(self, items, most):
        return self.rng.sample(items, self.rng.randint(1, min(most, len(items))))

    def index_statement(self):
        table = self.pick(self.tables)
        if table.indexes and self.chance(0.45):
            return f"DROP INDEX {table.indexes.pop(self.rng.randrange(len(table.indexes)))[0]}"
        self.index_count += 1
        name = f"i{self.index_count}"
        unique = self.chance(0.2)
        names = [c.name for c in self.some(table.columns, 3)]
        table.indexes.append((name, unique, names))
        parts = [n + self.pick(["", "", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"]) for n in names]
        return f"CREATE {'UNIQUE ' if unique else ''}INDEX {name} ON {table.name} ({', '.join(parts)})"

    def alter_statement(self):
        """ALTER TABLE; the tables are as it leaves them, if it succeeds."""
        table = self.pick(self.tables)
        actions = [self.alter_action(table) for _ in range(self.pick([1, 1, 1, 2, 3]))]
        if any(a.startswith("RENAME") for a in actions):
            actions = actions[:1]
        return f"ALTER TABLE {table.name} {', '.join(actions)}"

    def alter_action(self, table):
        kind = self.rng.randrange(12)
        column = self.pick(table.columns)
        if kind <= 3 or len(table.columns) < 2:
            type_ = self.pick(TYPES)
            self.column_count += 1
            added = Column(f"n{self.column_count}", type_, self.pick(DECLARED[type_]))
            text = f"ADD COLUMN {added.name} {added.declared}"
            if self.chance(0.6):
                text += f" DEFAULT {self.literal(type_)}"
                added.not_null = self.chance(0.3)
                text += " NOT NULL" if added.not_null else ""
            table.columns.append(added)
            return text
        if kind <= 5:
            table.columns.remove(column)
            table.keys = [k for k in table.keys if column.name not in k[1]]
            table.indexes = [i for i in table.indexes if column.name not in i[2]]
            return f"DROP COLUMN {column.name}"
        if kind == 6:
            self.column_count += 1
            before, column.name = column.name, f"r{self.column_count}"

            def renamed(names):
                return [column.name if n == before else n for n in names]

            table.keys = [(primary, renamed(names)) for primary, names in table.keys]
            table.indexes = [(name, unique, renamed(names)) for name, unique, names in table.indexes]
            return f"RENAME COLUMN {before} TO {column.name}"
        if kind == 7:
            return f"ALTER COLUMN {column.name} " + self.pick(
                [f"SET DEFAULT {self.literal(column.type)}", "DROP DEFAULT", "DROP NOT NULL", "SET NOT NULL"]
            )
        if kind == 8:
            primary = self.chance(0.5)
            names = [c.name for c in self.some(table.columns, 2)]
            return f"ADD {'PRIMARY KEY' if primary else 'UNIQUE'} ({', '.join(names)})"
        if kind == 9:
            table.keys = [k for k in table.keys if not k[0]]
            return f"DROP CONSTRAINT IF EXISTS {table.name}_pkey"
        if kind == 10:
            condition = self.condition([(c.name, c.type) for c in table.columns], 1)
            if "SELECT" not in condition:
                return f"ADD CHECK ({condition} OR {column.name} IS NULL)"
        column.declared = self.pick(DECLARED[column.type])
        return f"ALTER COLUMN {column.name} TYPE {column.declared}"

    # ---- FROM

    def alias(self):
        self.alias_count += 1
        return f"a{self.alias_count}"

    def one_source(self, depth):
        alias = self.alias()
        if depth > 0 and self.chance(0.12):
            table = self.pick(self.tables)
            inner = [(c.name, c.type) for c in table.columns]
            types = [self.pick(TYPES) for _ in range(self.rng.randint(1, 3))]
            items = ", ".join(
                f"CAST({self.expression(t, inner, 1)} AS {CASTS[t]}) AS s{i}" for i, t in enumerate(types)
            )
            distinct = "DISTINCT " if self.chance(0.3) else ""
            self.loose = self.loose or bool(distinct)
            text = f"(SELECT {distinct}{items} FROM {table.name} WHERE {self.condition(inner, 1)})"
            return f"{text} {alias}", [(f"{alias}.s{i}", t) for i, t in enumerate(types)]
        if depth > 0 and self.chance(0.1):
            return self.derived(alias)
        if self.chance(0.04):
            types = [self.pick(TYPES) for _ in range(2)]
            lines = ", ".join(
                "(" + ", ".join(f"CAST({self.literal(t)} AS {CASTS[t]})" for t in types) + ")"
                for _ in range(self.rng.randint(1, 3))
            )
            return f"(VALUES {lines}) {alias} (v0, v1)", [(f"{alias}.v{i}", t) for i, t in enumerate(types)]
        table = self.pick(self.tables)
        return f"{table.name} {alias}", [(f"{alias}.{c.name}", c.type) for c in table.columns]

    def derived(self, alias):
        """A group, a union or a cut of an ordered list as a table."""
        self.loose = True
        table = self.pick(self.tables)
        inner = [(c.name, c.type) for c in table.columns]
        where = f" WHERE {self.condition(inner, 1)}" if self.chance(0.5) else ""
        kind = self.rng.randrange(3)
        if kind == 0:
            key, type_ = self.pick(inner)
            other, other_type = self.pick([c for c in inner if c[1] != "bool"] or [("1", "int")])
            text = f"SELECT {key} AS s0, count(*) AS s1, max({other}) AS s2 FROM {table.name}{where} GROUP BY {key}"
            if self.chance(0.3):
                text += f" HAVING (count({other}) > {self.rng.randint(0, 2)})"
            types = [type_, "big", other_type]
        elif kind == 1:
            types = [self.pick(TYPES) for _ in range(2)]
            texts = [f"CAST({self.expression(t, inner, 1)} AS {CASTS[t]}) AS s{i}" for i, t in enumerate(types)]
            again = [f"CAST({self.expression(t, inner, 1)} AS {CASTS[t]})" for t in types]
            word = self.pick(["UNION", "UNION ALL", "EXCEPT", "INTERSECT"])
            text = (
                f"SELECT {', '.join(texts)} FROM {table.name}{where} {word} SELECT {', '.join(again)} FROM {table.name}"
            )
        else:
            chosen = self.some(inner, 3)
            types = [t for _, t in chosen]
            items = ", ".join(f"{c} AS s{i}" for i, (c, _) in enumerate(chosen))
            order = ", ".join(c + self.pick(["", " DESC", " NULLS FIRST"]) for c, _ in chosen)
            text = f"SELECT {items} FROM {table.name}{where} ORDER BY {order} LIMIT {self.rng.randint(0, 5)}"
            if self.chance(0.3):
                text += f" OFFSET {self.rng.randint(0, 3)}"
        return f"({text}) {alias}", [(f"{alias}.s{i}", t) for i, t in enumerate(types)]

    def source(self, most, depth=1):
        text, scope = self.one_source(depth)
        if self.big:
            most = min(most, 2)
        for _ in range(self.rng.randint(1, most) - 1):
            if not self.big and self.chance(0.15):
                join, more = self.lateral(scope)
                text, scope = text + join, scope + more
                continue
            right, more = self.one_source(depth)
            if self.big and not any(lt == rt for _, lt in scope for _, rt in more):
                break
            kind = self.pick(["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", ","])
            if kind in ("CROSS JOIN", ",") and not self.big:
                text = f"{text} CROSS JOIN {right}"
            else:
                kind = "JOIN" if kind in ("CROSS JOIN", ",") else kind
                text = f"{text} {kind} {right} ON {self.join_condition(scope, more, kind)}"
            scope = scope + more
        return text, scope

    def lateral(self, scope):
        """A join with an item that takes columns from the left."""
        alias = self.alias()
        kind, on = self.pick([("CROSS JOIN", ""), ("LEFT JOIN", " ON true"), ("JOIN", " ON true")])
        numbers = [ref for ref, t in scope if t == "int"]
        if numbers and self.chance(0.3):
            series = f"generate_series(1, abs({self.pick(numbers)} % 4))"
            if kind != "CROSS JOIN" and self.chance(0.5):
                on = f" ON ({alias} > 1)"
            return f" {kind} {series} {alias}", [(alias, "int")]
        types = [self.pick(TYPES) for _ in range(self.rng.randint(1, 2))]
        inner, source = scope, ""
        if self.chance(0.6):
            table = self.pick(self.tables)
            other = self.alias()
            columns = [(f"{other}.{c.name}", c.type) for c in table.columns]
            inner = scope + columns
            condition = self.join_condition(scope, columns, "JOIN")
            source = f" FROM {table.name} {other} WHERE {condition}"
        elif self.chance(0.5):
            source = f" WHERE {self.condition(inner, 1)}"
        items = ", ".join(f"CAST({self.expression(t, inner, 1)} AS {CASTS[t]}) AS s{i}" for i, t in enumerate(types))
        more = [(f"{alias}.s{i}", t) for i, t in enumerate(types)]
        if kind != "CROSS JOIN" and self.chance(0.5):
            on = f" ON {self.condition(scope + more, 1)}"
        return f" {kind} LATERAL (SELECT {items}{source}) {alias}{on}", more

    def recursive_query(self):
        """A few rounds over the rows of a table."""
        self.loose = True
        source, scope = self.one_source(0)
        types = [self.pick(TYPES) for _ in range(self.rng.randint(1, 2))]
        first = ", ".join(f"CAST({self.expression(t, scope, 1)} AS {CASTS[t]})" for t in types)
        own = [(f"r.c{i}", t) for i, t in enumerate(types)]
        inner, join = own, ""
        if not self.big and self.chance(0.4):
            other, more = self.one_source(0)
            inner, join = own + more, f" JOIN {other} ON {self.join_condition(own, more, 'JOIN')}"
            if self.chance(0.3):
                inner, join = own + more, f" CROSS JOIN {other}"
        again = ", ".join(f"CAST({self.expression(t, inner, 1)} AS {CASTS[t]})" for t in types)
        names = ", ".join(f"c{i}" for i in range(len(types)))
        sql = (
            f"WITH RECURSIVE r(depth, {names}) AS (SELECT 0, {first} FROM {source} WHERE {self.condition(scope, 1)}"
            f" UNION {self.pick(['', 'ALL '])}SELECT depth + 1, {again} FROM r{join}"
            f" WHERE (depth < {self.rng.randint(1, 2)} AND {self.condition(inner, 1)}))"
            f" SELECT depth, {names} FROM r"
        )
        return self.finish(sql, len(types) + 1, True)

    def using_query(self):
        """Joins with USING and NATURAL: merged columns."""
        left, right = self.pick(self.tables), self.pick(self.tables)
        kinds = {c.name: c.type for c in left.columns}
        shared = [c.name for c in right.columns if kinds.get(c.name) == c.type]
        clash = [c.name for c in right.columns if c.name in kinds and kinds[c.name] != c.type]
        kind = self.pick(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        if not shared:
            return self.query()
        a, b = self.alias(), self.alias()
        if not clash and self.chance(0.3) and not self.big:
            text, names = f"{left.name} {a} NATURAL {kind} {right.name} {b}", shared
        else:
            names = self.some(shared, 3)
            text = f"{left.name} {a} {kind} {right.name} {b} USING ({', '.join(names)})"
        scope = [(n, kinds[n]) for n in names] + [(f"{a}.{c.name}", c.type) for c in left.columns]
        scope += [(f"{b}.{c.name}", c.type) for c in right.columns]
        count = len(left.columns) + len(right.columns) - len(names)
        self.loose = True
        items = "*"
        if self.chance(0.6):
            count = self.rng.randint(1, 3)
            items = ", ".join(self.expression(self.pick(TYPES), scope, 1) for _ in range(count))
        return self.finish(f"SELECT {items} FROM {text} WHERE {self.condition(scope, 2)}", count, True)

    def with_query(self):
        parts, scope_tables, saved = [], [], self.tables
        for i in range(self.rng.randint(1, 2)):
            source, scope = self.source(1)
            types = [self.pick(TYPES) for _ in range(self.rng.randint(1, 3))]
            items = ", ".join(
                f"CAST({self.expression(t, scope, 1)} AS {CASTS[t]}) AS c{j}" for j, t in enumerate(types)
            )
            parts.append(f"w{i} AS (SELECT {items} FROM {source} WHERE {self.condition(scope, 1)})")
            scope_tables.append(Table(f"w{i}", [Column(f"c{j}", t) for j, t in enumerate(types)], []))
        self.tables = saved + scope_tables * 2
        inner = self.query() if self.chance(0.8) else self.using_query()
        self.tables = saved
        return Query(f"WITH {', '.join(parts)} {inner.sql}", inner.ordered, True)

    def join_condition(self, left, right, kind):
        pairs = [(l, r) for l, lt in left for r, rt in right if lt == rt or (lt in NUMBER_TYPES and rt in NUMBER_TYPES)]
        if kind == "FULL JOIN":  # PostgreSQL wants a condition that it can hash or merge
            same = [(l, r) for l, lt in left for r, rt in right if lt == rt]
            return "({} = {})".format(*self.pick(same)) if same else "true"
        if pairs and (self.big or self.chance(0.8)):
            text = "({} = {})".format(*self.pick(pairs))
            if self.chance(0.25):
                text = "({} AND {} = {})".format(text, *self.pick(pairs))
            if self.chance(0.3):
                text = f"({text} AND {self.condition(left + right, 1)})"
            return text
        return self.condition(left + right, 1)

    # ---- queries

    def query(self):
        self.loose = False
        if self.chance(0.12):
            return self.set_query()
        if self.chance(0.06):
            return self.using_query()
        if not self.with_depth and self.chance(0.03):
            return self.recursive_query()
        if not self.with_depth and self.chance(0.06):
            self.with_depth = True
            query = self.with_query()
            self.with_depth = False
            return query
        if self.chance(0.3):
            return self.group_query()
        if self.chance(0.15):
            return self.window_query()
        source, scope = self.source(self.pick([1, 1, 2, 2, 3]))
        distinct = "DISTINCT " if self.chance(0.15) else ""
        if self.chance(0.15) and not distinct:
            items, count = "*", len(scope)
        else:
            count = self.rng.randint(1, 4)
            items = ", ".join(self.expression(self.pick(TYPES), scope) for _ in range(count))
        where = f" WHERE {self.condition(scope, 3)}" if self.chance(0.8) else ""
        return self.finish(f"SELECT {distinct}{items} FROM {source}{where}", count, bool(distinct))

    def finish(self, sql, count, loose):
        loose = loose or self.loose
        if not self.chance(0.4):
            return Query(sql, False, loose)
        order = list(range(1, count + 1))
        self.rng.shuffle(order)
        order = [f"{i}{self.pick(['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST', ' NULLS LAST'])}" for i in order]
        sql += f" ORDER BY {', '.join(order)}"
        limited = self.chance(0.5)
        if limited:
            sql += f" LIMIT {self.rng.randint(0, 12)}" + (
                f" OFFSET {self.rng.randint(0, 5)}" if self.chance(0.4) else ""
            )
        return Query(sql, True, True)

    def aggregate(self, scope):
        type_ = self.pick([t for _, t in scope] or TYPES)
        e = lambda t=type_: self.expression(t, scope, 1)  # noqa: E731
        column = [ref for ref, t in scope if t == "dbl"]
        texts = [ref for ref, t in scope if t == "text"]
        one_text = len(texts) == 1
        text = self.pick(
            [
                lambda: "count(*)",
                lambda: f"count({e()})",
                lambda: f"count(DISTINCT {e()})",
                lambda: f"sum({e(self.pick(['int', 'big', 'num']))})",
                lambda: f"avg({e(self.pick(['int', 'num']))})",
                lambda: f"{self.pick(['min', 'max'])}({e() if type_ != 'bool' else e('text')})",
                lambda: f"{self.pick(['bool_and', 'bool_or'])}({e('bool')})",
                lambda: f"{self.pick(['sum', 'avg'])}(round({self.pick(column)}))" if column else "count(*)",
                lambda: f"sum(DISTINCT {e('int')})",
                lambda: (
                    f"string_agg({self.pick(texts)}, ',' ORDER BY {self.pick(texts)}{self.pick(['', ' DESC'])})"
                    if one_text
                    else "count(*)"
                ),
            ]
        )()
        if self.chance(0.15):
            text += f" FILTER (WHERE {self.condition(scope, 1)})"
        return text

    def group_query(self):
        source, scope = self.source(self.pick([1, 1, 2]))
        self.loose = True
        where = f" WHERE {self.condition(scope, 2)}" if self.chance(0.6) else ""
        keys = [
            self.pick(scope)[0] if self.chance(0.7) else self.expression(self.pick(TYPES), scope, 1)
            for _ in range(self.pick([0, 1, 1, 2]))
        ]
        keys = [k for k in keys if not k.lstrip("-").replace(".", "").isdigit() and "SELECT" not in k]
        aggregates = [self.aggregate(scope) for _ in range(self.rng.randint(1, 3))]
        sql = f"SELECT {', '.join(keys + aggregates)} FROM {source}{where}"
        if keys:
            positions = self.chance(0.3)
            sql += " GROUP BY " + ", ".join(str(i + 1) if positions else k for i, k in enumerate(keys))
        if self.chance(0.25):
            count = self.pick(["count(*)", f"count({self.pick(scope)[0]})"])
            sql += f" HAVING ({count} {self.pick(['>', '<=', '='])} {self.rng.randint(0, 4)})"
        return self.finish(sql, len(keys) + len(aggregates), True)

    # ---- windows: rows that a total order leaves equal are equal in all columns, so that their order shows nowhere

    def window_query(self):
        self.loose = True
        if self.chance(0.15):
            return self.grouped_window_query()
        source, scope = self.source(self.pick([1, 1, 1, 2]))
        where = f" WHERE {self.condition(scope, 1)}" if self.chance(0.4) else ""
        named = ""
        items = [ref for ref, _ in self.some(scope, 3)]
        # One for all: equal rows may change places between two sorts.
        total = (self.partition_clause(scope), self.total_order(scope))
        for _ in range(self.rng.randint(1, 3)):
            if self.chance(0.7):
                (partition, order), frame, function = total, self.total_frame(), self.total_function(scope)
            else:
                partition = self.partition_clause(scope)
                order, frame, function = self.peers_window(scope)
            if not named and self.chance(0.15):
                named = f" WINDOW w AS ({partition}ORDER BY {order})"
                items.append(f"{function} OVER " + (f"(w {frame})" if frame else "w"))
            else:
                items.append(f"{function} OVER ({partition}ORDER BY {order} {frame})")
            if self.chance(0.1):
                items[-1] = f"coalesce(CAST({items[-1]} AS text), 'none')"
        distinct = "DISTINCT " if self.chance(0.1) else ""
        sql = f"SELECT {distinct}{', '.join(items)} FROM {source}{where}{named}"
        if self.chance(0.15) and not named:
            first = f"row_number() OVER (ORDER BY {self.total_order(scope)}) AS r"
            sql = f"SELECT r FROM (SELECT {first}, {items[-1]} AS x FROM {source}{where}) s WHERE (r <= 5)"
            return self.finish(sql, 1, True)
        return self.finish(sql, len(items), True)

    def partition_clause(self, scope):
        if self.chance(0.5):
            return ""
        return f"PARTITION BY {', '.join(ref for ref, _ in self.some(scope, 2))} "

    def direction(self):
        return self.pick(["", "", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"])

    def total_order(self, scope):
        return ", ".join(ref + self.direction() for ref, _ in self.rng.sample(scope, len(scope)))

    def bounds(self, offsets):
        """Two bounds of a frame, the second not before the first."""
        starts = ["UNBOUNDED PRECEDING"] * 2 + [f"{o} PRECEDING" for o in offsets]
        ends = [f"{o} FOLLOWING" for o in offsets] + ["UNBOUNDED FOLLOWING"]
        kind = self.rng.randrange(5)
        if kind == 0:
            return self.pick(starts), self.pick(starts[2:])
        if kind == 1:
            return self.pick(ends[:-1]), self.pick(ends)
        return self.pick(starts + ["CURRENT ROW"]), self.pick(["CURRENT ROW"] + ends)

    def total_frame(self):
        if self.chance(0.3):
            return ""
        offsets = [self.rng.randint(0, 4), self.pick([1, 2, 150, 700])]
        mode = self.pick(["ROWS", "ROWS", "ROWS", "GROUPS", "RANGE"])
        start, end = self.bounds(offsets)
        if mode == "RANGE":
            start, end = self.pick(["UNBOUNDED PRECEDING", "CURRENT ROW"]), self.pick(
                ["CURRENT ROW", "UNBOUNDED FOLLOWING"]
            )
        exclude = self.pick(["", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"])
        return f"{mode} BETWEEN {start} AND {end}{exclude}"

    def total_function(self, scope):
        ref, type_ = self.pick(scope)
        e = self.expression(type_, scope, 1)
        return self.pick(
            [
                lambda: self.pick(["row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()"]),
                lambda: f"ntile({self.rng.randint(1, 6)})",
                lambda: f"{self.pick(['lag', 'lead'])}({e})",
                lambda: f"{self.pick(['lag', 'lead'])}({ref}, {self.rng.randint(-2, 5)})",
                lambda: f"{self.pick(['lag', 'lead'])}({ref}, 2, {self.typed_literal(type_)})",
                lambda: f"{self.pick(['first_value', 'last_value'])}({e})",
                lambda: f"nth_value({ref}, {self.rng.randint(1, 4)})",
                lambda: self.window_aggregate(scope),
                lambda: self.window_aggregate(scope),
                lambda: self.window_aggregate(scope),
            ]
        )()

    def typed_literal(self, type_):
        return f"CAST({self.literal(type_)} AS {CASTS[type_]})"

    def window_aggregate(self, scope):
        while True:
            text = self.aggregate(scope)
            if "DISTINCT" not in text and "string_agg" not in text:
                return text

    def peers_window(self, scope):
        """Functions to which the order of peers is all the same."""
        ref, type_ = self.pick(scope)
        offsets = {
            "int": ["1", "3::bigint", "0"],
            "big": ["1", "100"],
            "num": ["0.5", "2"],
            "dbl": ["0.25", "3"],
            "date": ["interval '3 days'", "interval '1 month'"],
            "ts": ["interval '90 minutes'", "interval '1 month'"],
        }.get(type_)
        if offsets and self.chance(0.7):
            start, end = self.bounds(offsets)
            frame = f"RANGE BETWEEN {start} AND {end}" + self.pick(["", "", " EXCLUDE GROUP"])
            return ref + self.direction(), frame, self.window_aggregate(scope)
        keys = ", ".join(r + self.direction() for r, _ in self.some(scope, 2))
        frame = ""
        if self.chance(0.5):
            start, end = self.bounds(["1", "2"])
            frame = f"GROUPS BETWEEN {start} AND {end}" + self.pick(["", "", " EXCLUDE GROUP"])
        function = self.pick(["rank()", "dense_rank()", "percent_rank()", "cume_dist()", self.window_aggregate(scope)])
        return keys, frame, function

    def grouped_window_query(self):
        source, scope = self.source(1)
        keys = [ref for ref, _ in self.some(scope, 2)]
        value = self.pick(["count(*)", f"count({self.pick(scope)[0]})"])
        frame = self.pick(["", "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", "ROWS UNBOUNDED PRECEDING"])
        order = ", ".join(k + self.direction() for k in keys)
        items = [
            self.pick(keys),
            value,
            f"sum({value}) OVER (ORDER BY {order} {frame})",
            f"rank() OVER (ORDER BY {value}{self.direction()})",
        ]
        sql = f"SELECT {', '.join(items)} FROM {source} GROUP BY {', '.join(keys)}"
        return self.finish(sql, len(items), True)

    def set_query(self):
        types = [self.pick(TYPES) for _ in range(self.rng.randint(1, 2))]

        def branch():
            source, scope = self.source(1)
            items = ", ".join(f"CAST({self.expression(t, scope, 1)} AS {CASTS[t]})" for t in types)
            return f"SELECT {items} FROM {source} WHERE {self.condition(scope, 1)}"

        sql = branch()
        for _ in range(self.pick([1, 1, 2])):
            sql += (
                f" {self.pick(['UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'INTERSECT ALL', 'EXCEPT ALL'])} {branch()}"
            )
        return self.finish(sql, len(types), True)

    # ---- writes

    def write(self):
        self.loose = False
        table = self.pick(self.tables)
        kind = self.rng.randrange(10)
        if kind < 5:
            sql = self.insert(table)
        elif kind < 8:
            sql = self.update(table)
        else:
            scope = [(f"{table.name}.{c.name}", c.type) for c in table.columns]
            using = ""
            if self.chance(0.2):
                source, more = self.source(1)
                using, scope = f" USING {source}", scope + more
            sql = f"DELETE FROM {table.name}{using} WHERE ({self.condition(scope, 2)} AND {self.condition(scope, 1)})"
        if self.chance(0.3):
            scope = [(f"{table.name}.{c.name}", c.type) for c in table.columns]
            simple = " FROM " not in sql.split(" WHERE ")[0][6:] and " USING " not in sql
            items = (
                "*"
                if self.chance(0.5) and simple
                else ", ".join(self.expression(self.pick(TYPES), scope, 1) for _ in range(2))
            )
            sql += f" RETURNING {items}"
        return Query(sql, False, self.loose)

    def insert(self, table):
        columns = [c for c in table.columns if c.not_null or self.chance(0.9)] or table.columns[:1]
        names = ", ".join(c.name for c in columns)
        if self.chance(0.12):
            other = self.pick(self.tables)
            scope = [(c.name, c.type) for c in other.columns]
            items = ", ".join(f"CAST({self.expression(c.type, scope, 1)} AS {CASTS[c.type]})" for c in columns)
            select = f"SELECT DISTINCT {items} FROM {other.name} WHERE {self.condition(scope, 1)}"
            sql = f"INSERT INTO {table.name} ({names}) {select}"
            self.loose = True
        else:
            lines = [f"({', '.join(self.value_for(c) for c in columns)})" for _ in range(self.pick([1, 1, 2, 4, 8]))]
            sql = f"INSERT INTO {table.name} ({names}) VALUES {', '.join(lines)}"
        keys = [names for _, names in table.keys] + [names for _, unique, names in table.indexes if unique]
        if keys and self.chance(0.4) and "SELECT" not in sql:
            target = f"({', '.join(self.pick(keys))})"
            if self.chance(0.5):
                return sql + f" ON CONFLICT {self.pick([target, ''])} DO NOTHING"
            column = self.pick(table.columns)
            scope = [(f"{p}.{c.name}", c.type) for c in table.columns for p in (table.name, "excluded")]
            sql += f" ON CONFLICT {target} DO UPDATE SET {column.name} = {self.assigned(column, scope)}"
            if self.chance(0.3):
                sql += f" WHERE {self.condition(scope, 1)}"
        return sql

    def assigned(self, column, scope):
        if self.chance(0.3):
            return self.value_for(column)
        return f"CAST({self.expression(column.type, scope, 1)} AS {CASTS[column.type]})"

    def update(self, table):
        scope = [(f"{table.name}.{c.name}", c.type) for c in table.columns]
        sets = ", ".join(f"{c.name} = {self.assigned(c, scope)}" for c in self.some(table.columns, 2))
        if self.chance(0.2):  # what is set does not depend on which of several partners is found
            source, more = self.source(1)
            return f"UPDATE {table.name} SET {sets} FROM {source} WHERE {self.join_condition(scope, more, 'JOIN')}"
        return f"UPDATE {table.name} SET {sets} WHERE {self.condition(scope, 2)}"

    def bulk(self):
        """Many rows at once, over the borders of chunks and tree pages."""
        table = self.pick(self.tables)
        forms = {
            "int": "(g % {m})",
            "big": "(g * {m})::bigint",
            "num": "((g % {m}) / 4.0)::numeric(10,2)",
            "dbl": "((g % {m}) / 4.0)::float8",
            "text": "('k' || (g % {m}))",
            "bool": "(g % {m} = 1)",
            "date": "(DATE '2024-01-01' + (g % {m})::int)",
            "ts": "(TIMESTAMP '2024-01-01' + (g % {m}) * interval '1 hour')",
        }
        self.big = True
        size = self.pick([100, 300, 1500])
        items = []
        for c in table.columns:
            text = forms[c.type].format(m=self.pick([3, 7, 97, 4001]))
            items.append(text if c.not_null or self.chance(0.6) else f"(CASE WHEN g % 5 = 0 THEN NULL ELSE {text} END)")
        return Query(
            f"INSERT INTO {table.name} SELECT {', '.join(items)} FROM generate_series(1, {size}) g"
            " ON CONFLICT DO NOTHING"
        )

    # ---- metamorphic checks on one server: lists of queries and how their answers relate

    def partition(self):
        """TLP: (all, [where p, where not p, where p is null], how)."""
        self.loose = False
        source, scope = self.source(self.pick([1, 1, 2]))
        p = self.condition(scope, 2)
        how = self.pick(["rows", "rows", "distinct", "count", "max", "having"])
        ref, _ = self.pick(scope)
        item = {"rows": "*", "distinct": f"DISTINCT {ref}", "count": "count(*)", "max": f"count({ref})", "having": ref}[
            how
        ]
        tail = ""
        if how == "having":
            p = f"(count(*) {self.pick(['>', '=', '<'])} {self.rng.randint(0, 3)})"
            if self.chance(0.5):
                p = f"({p} AND max({ref}::text) > 'a')"
            return (
                f"SELECT {item} FROM {source} GROUP BY {ref}",
                [f"SELECT {item} FROM {source} GROUP BY {ref} HAVING {q}" for q in (p, f"NOT {p}", f"{p} IS NULL")],
                "rows",
            )
        return (
            f"SELECT {item} FROM {source}{tail}",
            [f"SELECT {item} FROM {source} WHERE {q}" for q in (p, f"(NOT {p})", f"({p} IS NULL)")],
            how,
        )

    def unoptimized(self):
        """NoREC: (count with the filter, the filter as a column)."""
        self.loose = False
        source, scope = self.source(self.pick([1, 1, 2, 3]))
        p = self.condition(scope, 3)
        return f"SELECT count(*) FROM {source} WHERE {p}", f"SELECT ({p} IS TRUE) FROM {source}"
