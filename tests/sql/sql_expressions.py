"""Random expressions and conditions of each type over the columns in reach, for sql_generator.py."""

TYPES = ["int", "big", "num", "dbl", "text", "bool", "date", "ts"]
CASTS = {
    "int": "integer",
    "big": "bigint",
    "num": "numeric",
    "dbl": "double precision",
    "text": "text",
    "bool": "boolean",
    "date": "date",
    "ts": "timestamp",
}
WORDS = [
    "",
    "a",
    "b",
    "ab",
    "abc",
    "B",
    "Zeta",
    "x_y",
    "50%",
    "0",
    "10",
    "-3",
    "naïve",
    "ß",
    "日本",
    " a",
    "a ",
    "it''s",
    "a\\b",
    "true",
]
PATTERNS = ["%", "a%", "%b", "_", "__%", "%a%", "", "x\\_y", "%ï%", "ab", "5_\\%", "%''%", "A%"]
DATE_FIELDS = ["year", "month", "day", "dow", "doy", "epoch"]
INTERVALS = ["1 day", "1 month", "90 minutes", "1 mon -3 days"]
COMPARISONS = ["=", "=", "=", "<>", "<", "<=", ">", ">="]
NUMBER_TYPES = ("int", "big", "num", "dbl")


class Expressions:
    """Base of Generator, which gives FROM clauses (`source`) and the tables."""

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, items):
        return self.rng.choice(items)

    def maybe_not(self):
        return self.pick(["", "", "NOT "])

    # ---- values

    def literal(self, type_, null=0.08):
        if self.chance(null):
            return self.pick(["NULL", f"NULL::{CASTS[type_]}"])
        r = self.rng
        if type_ == "int":
            return str(self.pick([r.randint(-3, 9), r.randint(-3, 9), r.randint(-200, 200), 32767, -32768]))
        if type_ == "big":
            values = [r.randint(-3, 9), r.randint(-3, 9), 2**31 + r.randint(-2, 2), r.randint(-(2**40), 2**40)]
            return f"{self.pick(values)}::bigint"
        if type_ == "num":
            return self.pick(
                [
                    f"{r.randint(-5, 9)}.{r.randint(0, 99):02d}",
                    f"{r.randint(-500, 900) / 10}",
                    "0.0",
                    "1.50",
                    f"{r.randint(-3, 9)}::numeric",
                    "1234.5678",
                ]
            )
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
        return self.pick(
            [
                lambda: f"({e()} {self.pick('+-*')} {self.rng.randint(-3, 5)})",
                lambda: f"({e()} + {e()})",
                lambda: f"({e()} / {self.pick([1, 2, 3, -2])})",
                lambda: f"({e()} % {self.pick([2, 3, -5])})",
                lambda: f"(- {e()})",
                lambda: f"abs({e()})",
                lambda: f"length({e('text')})",
                lambda: f"({e('date')} - {e('date')})",
                lambda: f"({e('bool')})::int",
                lambda: f"position({e('text')} in {e('text')})",
                lambda: f"ascii({e('text')})",
                lambda: f"({e()} {self.pick('&|#')} {e()})",
                lambda: f"CAST({e('num')} AS integer)",
                lambda: f"octet_length({e('text')})",
                lambda: f"mod({e()}, 7)",
            ]
        )()

    def make_big(self, scope, depth):
        e = lambda t="big": self.expression(t, scope, depth)  # noqa: E731
        return self.pick(
            [
                lambda: f"({e()} {self.pick('+-')} {e('int')})",
                lambda: f"({e('int')}::bigint * {e('int')})",
                lambda: f"({e()} / {self.pick([2, 3, 7])})",
                lambda: f"abs({e()})",
                lambda: f"CAST({e('dbl')} AS bigint)",
                lambda: f"({e()} % 10::bigint)",
                lambda: f"CAST({e('int')} AS bigint)",
            ]
        )()

    def make_num(self, scope, depth):
        e = lambda t="num": self.expression(t, scope, depth)  # noqa: E731
        return self.pick(
            [
                lambda: f"({e()} {self.pick('+-*')} {e()})",
                lambda: f"({e()} / {self.pick(['3', '0.7', '-2.50', '11'])})",
                lambda: f"round({e()}, {self.rng.randint(-1, 3)})",
                lambda: f"{self.pick(['floor', 'ceil', 'abs', 'sign'])}({e()})",
                lambda: f"trunc(({e()})::numeric)",
                lambda: f"({e('int')} * {e()})",
                lambda: f"({e('big')} + {e()})",
                lambda: f"CAST({e('int')} AS numeric)",
                lambda: f"({e()} % 1.3)",
                lambda: f"CAST({e()} AS numeric(12,1))",
                lambda: f"extract({self.pick(DATE_FIELDS)} from {e(self.pick(['date', 'ts']))})",
            ]
        )()

    def make_dbl(self, scope, depth):
        e = lambda t="dbl": self.expression(t, scope, depth)  # noqa: E731
        return self.pick(
            [
                lambda: f"({e()} {self.pick('+-*')} {e()})",
                lambda: f"({e()} / {self.pick(['3', '-0.7', '2'])})",
                lambda: f"{self.pick(['floor', 'ceil', 'abs', 'round'])}({e()})",
                lambda: f"trunc(({e()})::float8)",
                lambda: f"({e()} + {e('int')})",
                lambda: f"({e('num')} * {e()})",
                lambda: f"CAST({e('num')} AS float8)",
                lambda: f"sqrt(abs({e()}))",
            ]
        )()

    def make_text(self, scope, depth):
        e = lambda t="text": self.expression(t, scope, depth)  # noqa: E731
        return self.pick(
            [
                lambda: f"({e()} || {e()})",
                lambda: f"({e()} || {e('int')})",
                lambda: f"{self.pick(['upper', 'lower', 'reverse', 'trim', 'initcap', 'md5'])}({e()})",
                lambda: f"substr({e()}, {self.rng.randint(-1, 3)}, {self.rng.randint(0, 3)})",
                lambda: f"replace({e()}, {e()}, 'q')",
                lambda: f"{self.pick(['left', 'right'])}({e()}, {self.rng.randint(-2, 3)})",
                lambda: f"lpad({e()}, {self.rng.randint(0, 6)}, 'xy')",
                lambda: f"CAST({e(self.pick(TYPES))} AS text)",
                lambda: f"concat({e()}, {e('int')}, {e('bool')})",
                lambda: f"repeat({e()}, {self.rng.randint(0, 2)})",
                lambda: f"CAST({e()} AS varchar(3))",
                lambda: f"split_part({e()}, 'a', {self.rng.randint(1, 2)})",
            ]
        )()

    def make_date(self, scope, depth):
        e = lambda t="date": self.expression(t, scope, depth)  # noqa: E731
        return self.pick(
            [lambda: f"({e()} {self.pick('+-')} {self.rng.randint(0, 40)})", lambda: f"CAST({e('ts')} AS date)"]
        )()

    def make_ts(self, scope, depth):
        e = lambda t="ts": self.expression(t, scope, depth)  # noqa: E731
        return self.pick(
            [
                lambda: f"({e()} {self.pick('+-')} interval '{self.pick(INTERVALS)}')",
                lambda: f"CAST({e('date')} AS timestamp)",
                lambda: f"date_trunc('{self.pick(['month', 'hour', 'year', 'week'])}', {e()})",
            ]
        )()

    def make_bool(self, scope, depth):
        return self.condition(scope, depth)

    # ---- conditions

    def condition(self, scope, depth=2):
        if depth > 0 and self.chance(0.45):
            kind = self.rng.randrange(4)
            if kind == 0:
                return f"(NOT {self.condition(scope, depth - 1)})"
            return (
                f"({self.condition(scope, depth - 1)} {'AND' if kind < 3 else 'OR'} {self.condition(scope, depth - 1)})"
            )
        if depth > 0 and self.tables and self.chance(0.15):
            return self.subquery_condition(scope, depth - 1)
        type_ = self.pick([t for _, t in scope] or TYPES) if self.chance(0.7) else self.pick(TYPES)
        e = lambda: self.expression(type_, scope, depth - 1)  # noqa: E731
        columns = [ref for ref, t in scope if t == type_]
        left = self.pick(columns) if columns and self.chance(0.6) else e()
        kind = self.rng.randrange(14)
        if kind < 5:
            return f"({left} {self.pick(COMPARISONS)} {self.comparand(type_, scope, depth)})"
        other = type_
        if type_ in NUMBER_TYPES and self.chance(0.25):
            other = self.pick(NUMBER_TYPES)
        elif type_ in ("date", "ts") and self.chance(0.25):
            other = self.pick(("date", "ts"))
        if kind < 7:
            items = ", ".join(self.literal(other, 0.05) for _ in range(self.rng.randint(1, 4)))
            return f"({left} {self.maybe_not()}IN ({items}))"
        if kind < 9:
            return f"({left} {self.maybe_not()}BETWEEN {self.literal(other, 0.03)} AND {self.literal(type_, 0.03)})"
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
        compare = f"{self.pick(['=', '<', '>=', '<>'])} {self.pick(['ANY', 'ALL'])}"
        return f"({left} {compare} (SELECT {ref} FROM {source} WHERE {where}))"

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
        value = self.expression(type_, inner or scope, depth - 1)
        return f"(SELECT {self.pick(['min', 'max'])}({value}) FROM {source} WHERE {where})"
