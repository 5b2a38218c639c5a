"""Cases of differential_test.py about foreign keys: few tables of small integers that reference each other in random
ways, and writes that often meet what is referenced."""

INTEGERS = ["integer", "integer", "smallint", "bigint"]
ACTIONS = ["", "", "NO ACTION", "RESTRICT", "CASCADE", "CASCADE", "SET NULL", "SET DEFAULT"]
VALUES = 6


class ForeignKeyCases:
    def __init__(self, rng):
        self.rng = rng
        self.tables = {}  # name: names of its columns; the first is the primary key, u is unique

    def pick(self, items):
        return self.rng.choice(items)

    def chance(self, p):
        return self.rng.random() < p

    def value(self, null=0.2):
        return "NULL" if self.chance(null) else str(self.rng.randint(1, VALUES))

    def reference(self, name, targets):
        target, key = self.pick(targets), self.pick(["", " (id)", " (u)"])
        text = f"REFERENCES {target}{key}"
        for event in ("DELETE", "UPDATE"):
            action = self.pick(ACTIONS)
            text += f" ON {event} {action}" if action else ""
        return f"{name} {self.pick(INTEGERS)}" + (f" DEFAULT {self.value()}" if self.chance(0.4) else "") + " " + text

    def create(self, name):
        columns = [f"id {self.pick(INTEGERS)} PRIMARY KEY", f"u {self.pick(INTEGERS)} UNIQUE"]
        names = ["id", "u"]
        targets = list(self.tables) * 2 + [name]
        for i in range(self.rng.randint(1, 3)):
            columns.append(self.reference(f"r{i}", targets))
            names.append(f"r{i}")
        if self.chance(0.2):
            columns.append(f"CHECK ({self.pick(names)} < {VALUES})")
        if self.chance(0.2):
            columns[-1] += " NOT NULL" if columns[-1].startswith("r") else ""
        if self.chance(0.5):
            columns.append("UNIQUE (id, u)")
            if self.chance(0.6):
                target = self.pick([t for t in self.tables if self.paired.get(t)] + [name])
                full = self.pick(["", " MATCH FULL"])
                action = self.pick(["", " ON DELETE CASCADE", " ON DELETE SET NULL (r0)", " ON UPDATE CASCADE"])
                second = self.pick(names[1:])
                if second != "r0":
                    columns.append(f"FOREIGN KEY (r0, {second}) REFERENCES {target} (id, u){full}{action}")
            self.paired[name] = True
        self.tables[name] = names
        return f"CREATE TABLE {name} ({', '.join(columns)})"

    def ddl(self):
        self.paired = {}
        for i in range(self.rng.randint(2, 4)):
            yield self.create(f"t{i}")
        for name, names in self.tables.items():
            for column in names[2:]:
                if self.chance(0.4):
                    yield f"CREATE INDEX ON {name} ({', '.join([column] + (['u'] if self.chance(0.3) else []))})"

    def where(self, names):
        column = self.pick(["id", "id", "id", self.pick(names)])
        return self.pick(
            [
                f"{column} = {self.value(0)}",
                f"{column} = {self.value(0)}",
                f"{column} > {self.rng.randint(1, VALUES)}",
                f"{column} IN ({self.value(0)}, {self.value(0)})",
                "true",
            ]
        )

    def write(self):
        name, names = self.pick(list(self.tables.items()))
        kind = self.rng.randrange(10)
        if kind < 5:
            rows = ", ".join(
                "(" + ", ".join([self.value(0)] + [self.value(0.4) for _ in names[1:]]) + ")"
                for _ in range(self.pick([1, 1, 2, 3]))
            )
            sql = f"INSERT INTO {name} ({', '.join(names)}) VALUES {rows}"
            if self.chance(0.5):
                sql += " ON CONFLICT DO NOTHING"
            elif self.chance(0.3):
                column = self.pick(names)
                sql += f" ON CONFLICT (id) DO UPDATE SET {column} = {self.pick([f'excluded.{column}', self.value()])}"
            return sql
        if kind < 8:
            column = self.pick(names)
            value = self.pick([self.value(0.2), self.value(0.2), f"{column} + 1", "id", "DEFAULT"])
            return f"UPDATE {name} SET {column} = {value} WHERE {self.where(names)}"
        return f"DELETE FROM {name} WHERE {self.where(names)}"
