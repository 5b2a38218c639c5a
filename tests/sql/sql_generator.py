"""Random tables, writes and queries for differential_test.py, as text that Sisal and PostgreSQL should treat alike.

Everything comes from one random.Random. Compound expressions stand in parentheses, which the shrinker relies on. What
PostgreSQL leaves open is avoided: order without ORDER BY, ties under LIMIT, sums of doubles that do not add exactly.
"""

TYPES = ["int", "big", "num", "dbl", "text", "bool", "date", "ts"]
CASTS = {"int": "integer", "big": "bigint", "num": "numeric", "dbl": "double precision", "text": "text",
         "bool": "boolean", "date": "date", "ts": "timestamp"}
DECLARED = {"int": ["integer", "integer", "smallint"], "big": ["bigint"], "num": ["numeric(8,2)", "numeric(12,4)", "numeric"],
            "dbl": ["double precision"], "text": ["text", "varchar(12)", "varchar", "char(5)"], "bool": ["boolean"],
            "date": ["date"], "ts": ["timestamp"]}
WORDS = ["", "a", "b", "ab", "abc", "B", "Zeta", "x_y", "50%", "0", "10", "-3", "naïve", "ß", "日本", " a", "a ", "it''s",
         "a\\b", "true"]
PATTERNS = ["%", "a%", "%b", "_", "__%", "%a%", "", "x\\_y", "%ï%", "ab", "5_\\%", "%''%", "A%"]
NUMBER_TYPES = ("int", "big", "num", "dbl")


class Column:
    def __init__(self, name, type_, declared="", not_null=False):
        self.name, self.type, self.declared, self.not_null = name, type_, declared, not_null


class Table:
    def __init__(self, name, columns, keys):
        self.name, self.columns, self.keys = name, columns, keys  # keys: lists of column names, unique
        self.indexes = []

    def create(self):
        parts = [f"{c.name} {c.declared}" + (" NOT NULL" if c.not_null else "") for c in self.columns]
        parts += [("PRIMARY KEY" if primary else "UNIQUE") + f" ({', '.join(names)})" for primary, names in self.keys]
        return f"CREATE TABLE {self.name} ({', '.join(parts)})"


class Query:
    """A statement's text, and how its answers are compared: `ordered`, and `loose` where equal values may differ in
    scale or sign of zero, because the statement picks one of several equal values."""

    def __init__(self, sql, ordered=False, loose=False):
        self.sql, self.ordered, self.loose = sql, ordered, loose


class Generator:
    def __init__(self, rng):
        self.rng = rng
        self.tables = []
        self.alias_count = 0
        self.index_count = 0
        self.loose = False
        self.with_depth = False  # within a WITH
        self.big = False  # a table has many rows: no joins without an equality

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, items):
        return self.rng.choice(items)

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
        return Table(name, columns, keys)

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

    # ---- values

    def literal(self, type_, null=0.08):
        if self.chance(null):
            return self.pick(["NULL", f"NULL::{CASTS[type_]}"])
        r = self.rng
        if type_ == "int":
            return str(self.pick([r.randint(-3, 9), r.randint(-3, 9), r.randint(-200, 200), 32767, -32768]))
        if type_ == "big":
            return f"{self.pick([r.randint(-3, 9), r.randint(-3, 9), 2**31 + r.randint(-2, 2), r.randint(-2**40, 2**40)])}::bigint"
        if type_ == "num":
            return self.pick([f"{r.randint(-5, 9)}.{r.randint(0, 99):02d}", f"{r.randint(-500, 900) / 10}", "0.0", "1.50",
                              f"{r.randint(-3, 9)}::numeric", "1234.5678"])
        if type_ == "dbl":
            return f"{self.pick([r.randint(-12, 36) / 4, r.randint(-4000, 4000) / 4, 0.0])}::float8"
        if type_ == "text":
            return f"'{self.pick(WORDS)}'" + ("::text" if self.chance(0.3) else "")
        if type_ == "bool":
            return self.pick(["true", "false"])
        day = f"20{r.randint(19, 24)}-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}"
        if self.chance(0.5):
            day = f"2024-02-{r.randint(27, 29)}"
        if type_ == "date":
            return f"DATE '{day}'"
        return f"TIMESTAMP '{day} {r.randint(0, 23):02d}:{self.pick(['00:00', '30:15', '59:59.999999', '00:00.5'])}'"

    def value_for(self, column):
        """A literal that fits the column, most of the time."""
        if column.not_null and not self.chance(0.01):
            text = self.literal(column.type, 0)
        else:
            text = self.literal(column.type, 0.15)
        if column.type == "text" and text.endswith("::text"):
            text = text[:-6]
        return text

    # ---- expressions: scope is a list of (reference, type)

    def expression(self, type_, scope, depth=2):
        columns = [ref for ref, t in scope if t == type_]
        if depth <= 0 or self.chance(0.25):
            return self.pick(columns) if columns and self.chance(0.75) else self.literal(type_)
        if self.chance(0.12):
            return self.conditional(type_, scope, depth - 1)
        if self.chance(0.06) and self.tables:
            return self.scalar_subquery(type_, scope, depth - 1)
        return getattr(self, "make_" + type_)(scope, depth - 1)

    def conditional(self, type_, scope, depth):
        e = lambda: self.expression(type_, scope, depth)  # noqa: E731
        kind = self.rng.randrange(5)
        if kind == 0:
            return f"(CASE WHEN {self.condition(scope, depth)} THEN {e()} ELSE {e()} END)"
        if kind == 1:
            other = self.pick(["int", "text", "bool"])
            o = lambda: self.expression(other, scope, depth)  # noqa: E731
            return f"(CASE {o()} WHEN {o()} THEN {e()} WHEN {o()} THEN {e()} END)"
        if kind == 2:
            self.loose = True
            return f"COALESCE({e()}, {e()})"
        if kind == 3:
            return f"NULLIF({e()}, {e()})"
        self.loose = True
        return f"{self.pick(['GREATEST', 'LEAST'])}({e()}, {e()})"

    def make_int(self, scope, depth):
        e = lambda t="int": self.expression(t, scope, depth)  # noqa: E731
        return self.pick([
            lambda: f"({e()} {self.pick('+-*')} {self.rng.randint(-3, 5)})", lambda: f"({e()} + {e()})",
            lambda: f"({e()} / {self.pick([1, 2, 3, -2])})", lambda: f"({e()} % {self.pick([2, 3, -5])})",
            lambda: f"(- {e()})", lambda: f"abs({e()})", lambda: f"length({e('text')})", lambda: f"({e('date')} - {e('date')})",
            lambda: f"({e('bool')})::int", lambda: f"position({e('text')} in {e('text')})", lambda: f"ascii({e('text')})",
            lambda: f"({e()} {self.pick('&|#')} {e()})", lambda: f"CAST({e('num')} AS integer)",
            lambda: f"octet_length({e('text')})", lambda: f"mod({e()}, 7)",
        ])()

    def make_big(self, scope, depth):
        e = lambda t="big": self.expression(t, scope, depth)  # noqa: E731
        return self.pick([
            lambda: f"({e()} {self.pick('+-')} {e('int')})", lambda: f"({e('int')}::bigint * {e('int')})",
            lambda: f"({e()} / {self.pick([2, 3, 7])})", lambda: f"abs({e()})", lambda: f"CAST({e('dbl')} AS bigint)",
            lambda: f"({e()} % 10::bigint)", lambda: f"CAST({e('int')} AS bigint)",
        ])()

    def make_num(self, scope, depth):
        e = lambda t="num": self.expression(t, scope, depth)  # noqa: E731
        return self.pick([
            lambda: f"({e()} {self.pick('+-*')} {e()})", lambda: f"({e()} / {self.pick(['3', '0.7', '-2.50', '11'])})",
            lambda: f"round({e()}, {self.rng.randint(-1, 3)})", lambda: f"{self.pick(['floor', 'ceil', 'abs', 'sign'])}({e()})", lambda: f"trunc(({e()})::numeric)",
            lambda: f"({e('int')} * {e()})", lambda: f"({e('big')} + {e()})", lambda: f"CAST({e('int')} AS numeric)",
            lambda: f"({e()} % 1.3)", lambda: f"CAST({e()} AS numeric(12,1))",
            lambda: f"extract({self.pick(['year', 'month', 'day', 'dow', 'doy', 'epoch'])} from {e(self.pick(['date', 'ts']))})",
        ])()

    def make_dbl(self, scope, depth):
        e = lambda t="dbl": self.expression(t, scope, depth)  # noqa: E731
        return self.pick([
            lambda: f"({e()} {self.pick('+-*')} {e()})", lambda: f"({e()} / {self.pick(['3', '-0.7', '2'])})",
            lambda: f"{self.pick(['floor', 'ceil', 'abs', 'round'])}({e()})", lambda: f"trunc(({e()})::float8)", lambda: f"({e()} + {e('int')})",
            lambda: f"({e('num')} * {e()})", lambda: f"CAST({e('num')} AS float8)", lambda: f"sqrt(abs({e()}))",
        ])()

    def make_text(self, scope, depth):
        e = lambda t="text": self.expression(t, scope, depth)  # noqa: E731
        return self.pick([
            lambda: f"({e()} || {e()})", lambda: f"({e()} || {e('int')})", lambda: f"{self.pick(['upper', 'lower', 'reverse', 'trim', 'initcap', 'md5'])}({e()})",
            lambda: f"substr({e()}, {self.rng.randint(-1, 3)}, {self.rng.randint(0, 3)})", lambda: f"replace({e()}, {e()}, 'q')",
            lambda: f"{self.pick(['left', 'right'])}({e()}, {self.rng.randint(-2, 3)})", lambda: f"lpad({e()}, {self.rng.randint(0, 6)}, 'xy')",
            lambda: f"CAST({e(self.pick(TYPES))} AS text)", lambda: f"concat({e()}, {e('int')}, {e('bool')})",
            lambda: f"repeat({e()}, {self.rng.randint(0, 2)})", lambda: f"CAST({e()} AS varchar(3))",
            lambda: f"split_part({e()}, 'a', {self.rng.randint(1, 2)})",
        ])()

    def make_date(self, scope, depth):
        e = lambda t="date": self.expression(t, scope, depth)  # noqa: E731
        return self.pick([lambda: f"({e()} {self.pick('+-')} {self.rng.randint(0, 40)})", lambda: f"CAST({e('ts')} AS date)"])()

    def make_ts(self, scope, depth):
        e = lambda t="ts": self.expression(t, scope, depth)  # noqa: E731
        return self.pick([
            lambda: f"({e()} {self.pick('+-')} interval '{self.pick(['1 day', '1 month', '90 minutes', '1 mon -3 days'])}')",
            lambda: f"CAST({e('date')} AS timestamp)", lambda: f"date_trunc('{self.pick(['month', 'hour', 'year', 'week'])}', {e()})",
        ])()

    def make_bool(self, scope, depth):
        return self.condition(scope, depth)

    # ---- conditions

    def condition(self, scope, depth=2):
        if depth > 0 and self.chance(0.45):
            kind = self.rng.randrange(4)
            if kind == 0:
                return f"(NOT {self.condition(scope, depth - 1)})"
            return f"({self.condition(scope, depth - 1)} {'AND' if kind < 3 else 'OR'} {self.condition(scope, depth - 1)})"
        if depth > 0 and self.tables and self.chance(0.15):
            return self.subquery_condition(scope, depth - 1)
        type_ = self.pick([t for _, t in scope] or TYPES) if self.chance(0.7) else self.pick(TYPES)
        e = lambda: self.expression(type_, scope, depth - 1)  # noqa: E731
        columns = [ref for ref, t in scope if t == type_]
        left = self.pick(columns) if columns and self.chance(0.6) else e()
        kind = self.rng.randrange(14)
        if kind < 5:
            return f"({left} {self.pick(['=', '=', '=', '<>', '<', '<=', '>', '>='])} {self.comparand(type_, scope, depth)})"
        other = type_
        if type_ in NUMBER_TYPES and self.chance(0.25):
            other = self.pick(NUMBER_TYPES)
        elif type_ in ("date", "ts") and self.chance(0.25):
            other = self.pick(("date", "ts"))
        if kind < 7:
            return f"({left} {self.pick(['', '', 'NOT '])}IN ({', '.join(self.literal(other, 0.05) for _ in range(self.rng.randint(1, 4)))}))"
        if kind < 9:
            return f"({left} {self.pick(['', '', 'NOT '])}BETWEEN {self.literal(other, 0.03)} AND {self.literal(type_, 0.03)})"
        if kind < 10:
            return f"({left} IS {self.pick(['', 'NOT '])}NULL)"
        if kind < 11:
            return f"({left} IS {self.pick(['', 'NOT '])}DISTINCT FROM {e()})"
        if kind < 12 or type_ == "text":
            text = self.expression("text", scope, depth - 1)
            return f"({text} {self.pick(['', 'NOT '])}{self.pick(['LIKE', 'LIKE', 'ILIKE'])} '{self.pick(PATTERNS)}')"
        if type_ == "bool":
            return f"({left} IS {self.pick(['', 'NOT '])}{self.pick(['TRUE', 'FALSE', 'UNKNOWN'])})"
        if len(scope) > 1 and self.chance(0.4):
            chosen = [self.pick(scope) for _ in range(2)]
            right = ", ".join(self.literal(t, 0.02) for _, t in chosen)
            return f"(({', '.join(r for r, _ in chosen)}) {self.pick(['=', '<', '>=', '<>'])} ({right}))"
        return f"({left} = {e()})"

    def comparand(self, type_, scope, depth):
        """The other side of a comparison, sometimes of another type that compares with it."""
        if type_ in NUMBER_TYPES and self.chance(0.3):
            type_ = self.pick(NUMBER_TYPES)
        elif type_ in ("date", "ts") and self.chance(0.3):
            type_ = self.pick(("date", "ts"))
        return self.literal(type_, 0.04) if self.chance(0.5) else self.expression(type_, scope, depth - 1)

    def subquery_condition(self, scope, depth):
        source, inner = self.source(1, depth)
        where = self.condition(inner + scope, depth) if self.chance(0.8) else "true"
        kind = self.rng.randrange(4)
        if kind == 0 or not inner:
            return f"({self.pick(['', 'NOT '])}EXISTS (SELECT {self.pick(['1', '*'])} FROM {source} WHERE {where}))"
        ref, type_ = self.pick(inner)
        left = self.expression(type_, scope, depth - 1)
        if kind < 3:
            return f"({left} {self.pick(['', 'NOT '])}IN (SELECT {ref} FROM {source} WHERE {where}))"
        return f"({left} {self.pick(['=', '<', '>=', '<>'])} {self.pick(['ANY', 'ALL'])} (SELECT {ref} FROM {source} WHERE {where}))"

    def scalar_subquery(self, type_, scope, depth):
        source, inner = self.source(1, depth)
        where = self.condition(inner + scope, depth)
        if type_ == "big":
            return f"(SELECT count(*) FROM {source} WHERE {where})"
        if type_ == "bool":
            return f"(SELECT bool_or({self.condition(inner + scope, depth)}) FROM {source} WHERE {where})"
        self.loose = True
        same = [ref for ref, t in inner if t == type_]
        if same and self.chance(0.3):
            ref = self.pick(same)
            order = self.pick(["", " DESC", " NULLS FIRST", " DESC NULLS LAST"])
            return f"(SELECT {ref} FROM {source} WHERE {where} ORDER BY {ref}{order} LIMIT 1)"
        return f"(SELECT {self.pick(['min', 'max'])}({self.expression(type_, inner or scope, depth - 1)}) FROM {source} WHERE {where})"

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
            items = ", ".join(f"CAST({self.expression(t, inner, 1)} AS {CASTS[t]}) AS s{i}" for i, t in enumerate(types))
            distinct = "DISTINCT " if self.chance(0.3) else ""
            self.loose = self.loose or bool(distinct)
            text = f"(SELECT {distinct}{items} FROM {table.name} WHERE {self.condition(inner, 1)})"
            return f"{text} {alias}", [(f"{alias}.s{i}", t) for i, t in enumerate(types)]
        if depth > 0 and self.chance(0.1):
            return self.derived(alias)
        if self.chance(0.04):
            types = [self.pick(TYPES) for _ in range(2)]
            lines = ", ".join("(" + ", ".join(f"CAST({self.literal(t)} AS {CASTS[t]})" for t in types) + ")" for _ in range(self.rng.randint(1, 3)))
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
            text = f"SELECT {', '.join(texts)} FROM {table.name}{where} {word} SELECT {', '.join(again)} FROM {table.name}"
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
            right, more = self.one_source(depth)
            if self.big and not any(lt == rt for _, lt in scope for _, rt in more):
                break
            kind = self.pick(["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", ","])
            if kind in ("CROSS JOIN", ",") and not self.big:
                text = f"{text} CROSS JOIN {right}"
            else:
                text = f"{text} {kind if 'JOIN' in kind and kind != 'CROSS JOIN' else 'JOIN'} {right} ON {self.join_condition(scope, more, kind)}"
            scope = scope + more
        return text, scope

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
            items = ", ".join(f"CAST({self.expression(t, scope, 1)} AS {CASTS[t]}) AS c{j}" for j, t in enumerate(types))
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
        if not self.with_depth and self.chance(0.06):
            self.with_depth = True
            query = self.with_query()
            self.with_depth = False
            return query
        if self.chance(0.3):
            return self.group_query()
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
            sql += f" LIMIT {self.rng.randint(0, 12)}" + (f" OFFSET {self.rng.randint(0, 5)}" if self.chance(0.4) else "")
        return Query(sql, True, True)

    def aggregate(self, scope):
        type_ = self.pick([t for _, t in scope] or TYPES)
        e = lambda t=type_: self.expression(t, scope, 1)  # noqa: E731
        column = [ref for ref, t in scope if t == "dbl"]
        texts = [ref for ref, t in scope if t == "text"]
        one_text = len(texts) == 1
        text = self.pick([
            lambda: "count(*)", lambda: f"count({e()})", lambda: f"count(DISTINCT {e()})",
            lambda: f"sum({e(self.pick(['int', 'big', 'num']))})", lambda: f"avg({e(self.pick(['int', 'num']))})",
            lambda: f"{self.pick(['min', 'max'])}({e() if type_ != 'bool' else e('text')})",
            lambda: f"{self.pick(['bool_and', 'bool_or'])}({e('bool')})",
            lambda: f"{self.pick(['sum', 'avg'])}(round({self.pick(column)}))" if column else "count(*)",
            lambda: f"sum(DISTINCT {e('int')})", lambda: f"string_agg({self.pick(texts)}, ',' ORDER BY {self.pick(texts)}{self.pick(['', ' DESC'])})" if one_text else "count(*)",
        ])()
        if self.chance(0.15):
            text += f" FILTER (WHERE {self.condition(scope, 1)})"
        return text

    def group_query(self):
        source, scope = self.source(self.pick([1, 1, 2]))
        self.loose = True
        where = f" WHERE {self.condition(scope, 2)}" if self.chance(0.6) else ""
        keys = [self.pick(scope)[0] if self.chance(0.7) else self.expression(self.pick(TYPES), scope, 1)
                for _ in range(self.pick([0, 1, 1, 2]))]
        keys = [k for k in keys if not k.lstrip("-").replace(".", "").isdigit() and "SELECT" not in k]
        aggregates = [self.aggregate(scope) for _ in range(self.rng.randint(1, 3))]
        sql = f"SELECT {', '.join(keys + aggregates)} FROM {source}{where}"
        if keys:
            positions = self.chance(0.3)
            sql += " GROUP BY " + ", ".join(str(i + 1) if positions else k for i, k in enumerate(keys))
        if self.chance(0.25):
            sql += f" HAVING ({self.pick(['count(*)', f'count({self.pick(scope)[0]})'])} {self.pick(['>', '<=', '='])} {self.rng.randint(0, 4)})"
        return self.finish(sql, len(keys) + len(aggregates), True)

    def set_query(self):
        types = [self.pick(TYPES) for _ in range(self.rng.randint(1, 2))]

        def branch():
            source, scope = self.source(1)
            items = ", ".join(f"CAST({self.expression(t, scope, 1)} AS {CASTS[t]})" for t in types)
            return f"SELECT {items} FROM {source} WHERE {self.condition(scope, 1)}"
        sql = branch()
        for _ in range(self.pick([1, 1, 2])):
            sql += f" {self.pick(['UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'INTERSECT ALL', 'EXCEPT ALL'])} {branch()}"
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
            items = "*" if self.chance(0.5) and simple else ", ".join(self.expression(self.pick(TYPES), scope, 1) for _ in range(2))
            sql += f" RETURNING {items}"
        return Query(sql, False, self.loose)

    def insert(self, table):
        columns = [c for c in table.columns if c.not_null or self.chance(0.9)] or table.columns[:1]
        names = ", ".join(c.name for c in columns)
        if self.chance(0.12):
            other = self.pick(self.tables)
            scope = [(c.name, c.type) for c in other.columns]
            items = ", ".join(f"CAST({self.expression(c.type, scope, 1)} AS {CASTS[c.type]})" for c in columns)
            sql = f"INSERT INTO {table.name} ({names}) SELECT DISTINCT {items} FROM {other.name} WHERE {self.condition(scope, 1)}"
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
        forms = {"int": "(g % {m})", "big": "(g * {m})::bigint", "num": "((g % {m}) / 4.0)::numeric(10,2)",
                 "dbl": "((g % {m}) / 4.0)::float8", "text": "('k' || (g % {m}))", "bool": "(g % {m} = 1)",
                 "date": "(DATE '2024-01-01' + (g % {m})::int)", "ts": "(TIMESTAMP '2024-01-01' + (g % {m}) * interval '1 hour')"}
        self.big = True
        size = self.pick([100, 300, 1500])
        items = []
        for c in table.columns:
            text = forms[c.type].format(m=self.pick([3, 7, 97, 4001]))
            items.append(text if c.not_null or self.chance(0.6) else f"(CASE WHEN g % 5 = 0 THEN NULL ELSE {text} END)")
        return Query(f"INSERT INTO {table.name} SELECT {', '.join(items)} FROM generate_series(1, {size}) g ON CONFLICT DO NOTHING")

    # ---- metamorphic checks on one server: lists of queries and how their answers relate

    def partition(self):
        """TLP: (all, [where p, where not p, where p is null], how)."""
        self.loose = False
        source, scope = self.source(self.pick([1, 1, 2]))
        p = self.condition(scope, 2)
        how = self.pick(["rows", "rows", "distinct", "count", "max", "having"])
        ref, _ = self.pick(scope)
        item = {"rows": "*", "distinct": f"DISTINCT {ref}", "count": "count(*)", "max": f"count({ref})", "having": ref}[how]
        tail = ""
        if how == "having":
            p = f"(count(*) {self.pick(['>', '=', '<'])} {self.rng.randint(0, 3)})"
            if self.chance(0.5):
                p = f"({p} AND max({ref}::text) > 'a')"
            return (f"SELECT {item} FROM {source} GROUP BY {ref}",
                    [f"SELECT {item} FROM {source} GROUP BY {ref} HAVING {q}" for q in (p, f"NOT {p}", f"{p} IS NULL")], "rows")
        return (f"SELECT {item} FROM {source}{tail}",
                [f"SELECT {item} FROM {source} WHERE {q}" for q in (p, f"(NOT {p})", f"({p} IS NULL)")], how)

    def unoptimized(self):
        """NoREC: (count with the filter, the filter as a column)."""
        self.loose = False
        source, scope = self.source(self.pick([1, 1, 2, 3]))
        p = self.condition(scope, 3)
        return f"SELECT count(*) FROM {source} WHERE {p}", f"SELECT ({p} IS TRUE) FROM {source}"
