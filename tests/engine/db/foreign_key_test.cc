// Foreign keys in one session. What PostgreSQL 15 says to the same statements is written out.
#include "sql_fixture.h"

namespace sisal::db {
namespace {

class ForeignKeyTest : public SqlFixture {
 protected:
  static std::string Missing(const std::string& child, const std::string& key, const std::string& detail) {
    return "ERROR 23503: insert or update on table \"" + child + "\" violates foreign key constraint \"" + key +
           "\" (" + detail + ")";
  }
  static std::string Referenced(const std::string& parent, const std::string& child, const std::string& key,
                                const std::string& value) {
    return "ERROR 23503: update or delete on table \"" + parent + "\" violates foreign key constraint \"" + key +
           "\" on table \"" + child + "\" (Key " + value + " is still referenced from table \"" + child + "\".)";
  }
};

TEST_F(ForeignKeyTest, ChildrenNeedTheirParents) {
  Run("CREATE TABLE p (id INT PRIMARY KEY, u TEXT UNIQUE, v INT, w INT, UNIQUE (v, w))");
  EXPECT_EQ(Run("CREATE TABLE c (a INT REFERENCES p)"), "CREATE TABLE");
  EXPECT_EQ(Run("CREATE TABLE d (a INT, b INT, FOREIGN KEY (a, b) REFERENCES p (w, v))"), "CREATE TABLE");
  EXPECT_EQ(Run("INSERT INTO c VALUES (5)"), Missing("c", "c_a_fkey", "Key (a)=(5) is not present in table \"p\"."));
  EXPECT_EQ(Run("INSERT INTO p VALUES (1, 'a', 2, 3)"), "INSERT 1");
  EXPECT_EQ(Run("INSERT INTO c VALUES (1), (NULL)"), "INSERT 2");
  EXPECT_EQ(Run("INSERT INTO c VALUES (1), (6), (7)"),
            Missing("c", "c_a_fkey", "Key (a)=(6) is not present in table \"p\"."));
  EXPECT_EQ(Run("DELETE FROM p"), Referenced("p", "c", "c_a_fkey", "(id)=(1)"));
  EXPECT_EQ(Run("UPDATE p SET id = 2"), Referenced("p", "c", "c_a_fkey", "(id)=(1)"));
  EXPECT_EQ(Run("UPDATE p SET id = 1, v = 5"), "UPDATE 1");
  EXPECT_EQ(Run("INSERT INTO d VALUES (3, 5), (NULL, 7), (8, 5)"),
            Missing("d", "d_a_b_fkey", "Key (a, b)=(8, 5) is not present in table \"p\"."));
  EXPECT_EQ(Run("INSERT INTO d VALUES (3, 5), (NULL, 7)"), "INSERT 2");
  EXPECT_EQ(Run("UPDATE p SET v = 6"), Referenced("p", "d", "d_a_b_fkey", "(w, v)=(3, 5)"));
  EXPECT_EQ(Run("UPDATE c SET a = 9"), Missing("c", "c_a_fkey", "Key (a)=(9) is not present in table \"p\"."));
  EXPECT_EQ(Run("UPDATE c SET a = NULL"), "UPDATE 2");
  EXPECT_EQ(Run("DELETE FROM d"), "DELETE 2");
  Reopen();
  EXPECT_EQ(Run("DELETE FROM p"), "DELETE 1");
  EXPECT_EQ(Run("INSERT INTO c VALUES (1)"), Missing("c", "c_a_fkey", "Key (a)=(1) is not present in table \"p\"."));
}

TEST_F(ForeignKeyTest, MatchFullTakesAllNullsOrNone) {
  Run("CREATE TABLE p (v INT, w INT, UNIQUE (v, w))");
  Run("INSERT INTO p VALUES (5, 3), (NULL, 1)");
  Run("CREATE TABLE m (a INT, b INT, FOREIGN KEY (a, b) REFERENCES p (v, w) MATCH FULL)");
  EXPECT_EQ(Run("INSERT INTO m VALUES (1, NULL)"),
            Missing("m", "m_a_b_fkey", "MATCH FULL does not allow mixing of null and nonnull key values."));
  EXPECT_EQ(Run("INSERT INTO m VALUES (NULL, NULL), (5, 4)"),
            Missing("m", "m_a_b_fkey", "Key (a, b)=(5, 4) is not present in table \"p\"."));
  EXPECT_EQ(Run("INSERT INTO m VALUES (NULL, NULL), (5, 3)"), "INSERT 2");
  EXPECT_EQ(Run("DELETE FROM p WHERE v IS NULL"), "DELETE 1");
}

TEST_F(ForeignKeyTest, IntegersOfSeveralWidthsAndLongValues) {
  Run("CREATE TABLE p (id INT PRIMARY KEY)");
  Run("CREATE TABLE c (a BIGINT REFERENCES p ON UPDATE CASCADE, b SMALLINT REFERENCES p ON UPDATE CASCADE)");
  Run("CREATE INDEX ON c (b)");
  Run("INSERT INTO p VALUES (1), (70000)");
  EXPECT_EQ(Run("INSERT INTO c VALUES (5000000000, 1)"),
            Missing("c", "c_a_fkey", "Key (a)=(5000000000) is not present in table \"p\"."));
  EXPECT_EQ(Run("INSERT INTO c VALUES (70000, 1)"), "INSERT 1");
  EXPECT_EQ(Run("UPDATE p SET id = 80000 WHERE id = 1"), "ERROR 22003: smallint out of range");
  EXPECT_EQ(Run("UPDATE p SET id = id + 1"), "UPDATE 2");
  EXPECT_EQ(Run("SELECT * FROM c"), "70001|2\n");
  Run("CREATE TABLE q (k VARCHAR(200) PRIMARY KEY)");
  Run("CREATE TABLE r (k TEXT REFERENCES q)");
  const std::string x(100, 'x');
  EXPECT_EQ(Run("INSERT INTO r VALUES ('" + x + "')"),
            Missing("r", "r_k_fkey", "Key (k)=(" + x + ") is not present in table \"q\"."));
}

// NO ACTION looks when the statement has done all, RESTRICT does not care who else has the key.
TEST_F(ForeignKeyTest, NoActionLooksAtTheOutcome) {
  Run("CREATE TABLE p (id INT PRIMARY KEY)");
  Run("CREATE TABLE c (a INT REFERENCES p)");
  Run("INSERT INTO p VALUES (1), (2), (3)");
  Run("INSERT INTO c VALUES (2)");
  EXPECT_EQ(Run("UPDATE p SET id = id - 1"), "UPDATE 3");
  EXPECT_EQ(Run("SELECT * FROM p ORDER BY id"), "0\n1\n2\n");
  Run("CREATE TABLE r (a INT REFERENCES p ON UPDATE RESTRICT)");
  Run("INSERT INTO r VALUES (1)");
  EXPECT_EQ(Run("UPDATE p SET id = id - 1"), Referenced("p", "r", "r_a_fkey", "(id)=(1)"));
}

TEST_F(ForeignKeyTest, RowsOfOneTableReferenceEachOther) {
  Run("CREATE TABLE t (id INT PRIMARY KEY, up INT REFERENCES t)");
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, 2), (2, 1), (3, 3)"), "INSERT 3");
  EXPECT_EQ(Run("INSERT INTO t VALUES (4, 5), (5, 6)"),
            Missing("t", "t_up_fkey", "Key (up)=(6) is not present in table \"t\"."));
  EXPECT_EQ(Run("DELETE FROM t WHERE id = 1"), Referenced("t", "t", "t_up_fkey", "(id)=(1)"));
  EXPECT_EQ(Run("DELETE FROM t WHERE id = 3"), "DELETE 1");
  EXPECT_EQ(Run("UPDATE t SET id = id + 10, up = up + 10"), "UPDATE 2");
  EXPECT_EQ(Run("DELETE FROM t"), "DELETE 2");
  EXPECT_EQ(Run("DROP TABLE t"), "DROP TABLE");
}

TEST_F(ForeignKeyTest, DeleteCascadesThroughTablesAndIsNotCounted) {
  Run("CREATE TABLE a (id INT PRIMARY KEY)");
  Run("CREATE TABLE b (id INT PRIMARY KEY, a INT REFERENCES a ON DELETE CASCADE)");
  Run("CREATE INDEX ON b (a)");
  Run("CREATE TABLE c (b INT REFERENCES b ON DELETE CASCADE)");
  Run("CREATE TABLE d (b INT REFERENCES b)");
  Run("INSERT INTO a SELECT g FROM generate_series(1, 3000) AS s(g)");
  Run("INSERT INTO b SELECT g, g % 3000 + 1 FROM generate_series(1, 6000) AS s(g)");
  Run("INSERT INTO c SELECT g FROM generate_series(1, 6000) AS s(g)");
  EXPECT_EQ(Run("DELETE FROM a WHERE id <= 2900 RETURNING id % 100000 / 2900"), [] {
    std::string zeros;
    for (int i = 1; i < 2900; ++i) zeros += "0\n";
    return zeros + "1\n";
  }());
  EXPECT_EQ(Run("SELECT (SELECT count(*) FROM b), (SELECT count(*) FROM c)"), "200|200\n");
  Run("INSERT INTO d SELECT max(id) FROM b");
  EXPECT_EQ(Run("DELETE FROM a").substr(0, 11), "ERROR 23503");
  EXPECT_EQ(Run("SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b), (SELECT count(*) FROM c)"),
            "100|200|200\n");
  Run("DELETE FROM d");
  EXPECT_EQ(Run("DELETE FROM a"), "DELETE 100");
  EXPECT_EQ(Run("SELECT (SELECT count(*) FROM b), (SELECT count(*) FROM c)"), "0|0\n");
}

TEST_F(ForeignKeyTest, ActionsSetColumns) {
  Run("CREATE TABLE p (x INT, y INT, PRIMARY KEY (x, y))");
  Run("CREATE TABLE n (a INT, b INT, FOREIGN KEY (a, b) REFERENCES p ON DELETE SET NULL ON UPDATE CASCADE)");
  Run("CREATE TABLE o (a INT, b INT, FOREIGN KEY (a, b) REFERENCES p ON DELETE SET NULL (b))");
  Run("CREATE TABLE d (a INT DEFAULT 9, b INT DEFAULT 9, FOREIGN KEY (a, b) REFERENCES p ON DELETE SET DEFAULT)");
  Run("INSERT INTO p VALUES (1, 1), (2, 2), (9, 9)");
  Run("INSERT INTO n VALUES (1, 1), (2, 2)");
  EXPECT_EQ(Run("UPDATE p SET y = 7 WHERE x = 1"), "UPDATE 1");
  EXPECT_EQ(Run("SELECT * FROM n ORDER BY a"), "1|7\n2|2\n");
  EXPECT_EQ(Run("DELETE FROM p WHERE x = 1"), "DELETE 1");
  EXPECT_EQ(Run("SELECT * FROM n ORDER BY a"), "2|2\nNULL|NULL\n");
  Run("INSERT INTO o VALUES (2, 2)");
  Run("INSERT INTO d VALUES (2, 2)");
  EXPECT_EQ(Run("DELETE FROM p WHERE x = 2"), "DELETE 1");
  EXPECT_EQ(Run("SELECT * FROM o"), "2|NULL\n");
  EXPECT_EQ(Run("SELECT * FROM d"), "9|9\n");
  EXPECT_EQ(Run("DELETE FROM p WHERE x = 9"), Referenced("p", "d", "d_a_b_fkey", "(x, y)=(9, 9)"));
}

// What an action writes must keep to the constraints of its own table; if it does not, all of it is undone.
TEST_F(ForeignKeyTest, ActionsMeetOtherConstraints) {
  Run("CREATE TABLE p (id INT PRIMARY KEY)");
  Run("CREATE TABLE c (a INT NOT NULL REFERENCES p ON DELETE SET NULL ON UPDATE CASCADE CHECK (a < 100), "
      "b INT UNIQUE REFERENCES p ON DELETE SET DEFAULT DEFAULT 7)");
  Run("INSERT INTO p VALUES (1), (2), (3)");
  Run("INSERT INTO c VALUES (1, 2), (1, 3)");
  EXPECT_EQ(Run("DELETE FROM p WHERE id = 1").substr(0, 11), "ERROR 23502");
  EXPECT_EQ(Run("UPDATE p SET id = 100 WHERE id = 1").substr(0, 11), "ERROR 23514");
  EXPECT_EQ(Run("DELETE FROM p WHERE id = 2"), Missing("c", "c_b_fkey", "Key (b)=(7) is not present in table \"p\"."));
  Run("INSERT INTO p VALUES (7)");
  EXPECT_EQ(Run("DELETE FROM p WHERE id IN (2, 3)").substr(0, 11), "ERROR 23505");
  EXPECT_EQ(Run("SELECT * FROM c ORDER BY b"), "1|2\n1|3\n");
  EXPECT_EQ(Run("SELECT * FROM p ORDER BY id"), "1\n2\n3\n7\n");
}

TEST_F(ForeignKeyTest, SavepointsUndoActions) {
  Run("CREATE TABLE p (id INT PRIMARY KEY)");
  Run("CREATE TABLE c (id INT PRIMARY KEY, a INT REFERENCES p ON DELETE CASCADE)");
  Run("INSERT INTO p VALUES (1), (2)");
  Run("INSERT INTO c VALUES (1, 1), (2, 2)");
  Run("BEGIN");
  Run("SAVEPOINT s");
  EXPECT_EQ(Run("DELETE FROM p WHERE id = 1"), "DELETE 1");
  EXPECT_EQ(Run("SELECT * FROM c"), "2|2\n");
  EXPECT_EQ(Run("INSERT INTO c VALUES (3, 1)"), Missing("c", "c_a_fkey", "Key (a)=(1) is not present in table \"p\"."));
  Run("ROLLBACK TO s");
  EXPECT_EQ(Run("INSERT INTO c VALUES (3, 1)"), "INSERT 1");
  EXPECT_EQ(Run("COMMIT"), "COMMIT");
  EXPECT_EQ(Run("SELECT * FROM c ORDER BY id"), "1|1\n2|2\n3|1\n");
}

TEST_F(ForeignKeyTest, DefinitionsDependOnEachOther) {
  Run("CREATE TABLE p (id INT PRIMARY KEY, u INT)");
  Run("CREATE UNIQUE INDEX p_u_idx ON p (u)");
  Run("CREATE TABLE c (a INT REFERENCES p, b INT REFERENCES p (u))");
  EXPECT_EQ(Run("DROP TABLE p"),
            "ERROR 2BP01: cannot drop table p because other objects depend on it (constraint c_a_fkey on table c "
            "depends on table p\nconstraint c_b_fkey on table c depends on table p)");
  EXPECT_EQ(Run("DROP INDEX p_u_idx"),
            "ERROR 2BP01: cannot drop index p_u_idx because other objects depend on it (constraint c_b_fkey on table "
            "c depends on index p_u_idx)");
  EXPECT_EQ(Run("TRUNCATE p"),
            "ERROR 0A000: cannot truncate a table referenced in a foreign key constraint (Table \"c\" references "
            "\"p\".)");
  Run("INSERT INTO p VALUES (1, 1)");
  Run("INSERT INTO c VALUES (1, 1)");
  EXPECT_EQ(Run("TRUNCATE p, c"), "TRUNCATE TABLE");
  Run("INSERT INTO p VALUES (1, 1)");
  Run("INSERT INTO c VALUES (1, 1)");
  EXPECT_EQ(Run("TRUNCATE p CASCADE"), "TRUNCATE TABLE");
  EXPECT_EQ(Run("SELECT count(*) FROM c"), "0\n");
  EXPECT_EQ(Run("SELECT constraint_name, unique_constraint_name, definition FROM "
                "information_schema.referential_constraints ORDER BY 1"),
            "c_a_fkey|p_pkey|FOREIGN KEY (a) REFERENCES p(id)\nc_b_fkey|NULL|FOREIGN KEY (b) REFERENCES p(u)\n");
  EXPECT_EQ(Run("DROP INDEX p_u_idx CASCADE"), "DROP INDEX");
  EXPECT_EQ(Run("INSERT INTO c VALUES (NULL, 5)"), "INSERT 1");
  EXPECT_EQ(Run("INSERT INTO c VALUES (5, NULL)").substr(0, 11), "ERROR 23503");
  EXPECT_EQ(Run("DROP TABLE p CASCADE"), "DROP TABLE");
  EXPECT_EQ(Run("INSERT INTO c VALUES (5, NULL)"), "INSERT 1");
  Run("CREATE TABLE p (id INT PRIMARY KEY)");
  Run("CREATE TABLE e (a INT REFERENCES p)");
  EXPECT_EQ(Run("DROP TABLE p, e"), "DROP TABLE");
}

TEST_F(ForeignKeyTest, AreAddedToAndDroppedFromTablesWithRows) {
  Run("CREATE TABLE p (id INT PRIMARY KEY, u INT UNIQUE)");
  Run("CREATE TABLE c (a INT, b INT)");
  Run("INSERT INTO p VALUES (1, 1)");
  Run("INSERT INTO c VALUES (1, 1), (NULL, 2)");
  EXPECT_EQ(Run("ALTER TABLE c ADD FOREIGN KEY (a) REFERENCES p"), "ALTER TABLE");
  EXPECT_EQ(Run("ALTER TABLE c ADD CONSTRAINT x FOREIGN KEY (b) REFERENCES p (u)"),
            Missing("c", "x", "Key (b)=(2) is not present in table \"p\"."));
  EXPECT_EQ(Run("DELETE FROM p"), Referenced("p", "c", "c_a_fkey", "(id)=(1)"));
  EXPECT_EQ(Run("UPDATE c SET b = 1"), "UPDATE 2");
  EXPECT_EQ(Run("ALTER TABLE c ADD CONSTRAINT x FOREIGN KEY (b) REFERENCES p (u), DROP CONSTRAINT c_a_fkey"),
            "ALTER TABLE");
  EXPECT_EQ(Run("UPDATE p SET id = 2"), "UPDATE 1");
  EXPECT_EQ(Run("UPDATE p SET u = 2"), Referenced("p", "c", "x", "(u)=(1)"));
  EXPECT_EQ(Run("ALTER TABLE p DROP CONSTRAINT p_u_key"),
            "ERROR 2BP01: cannot drop constraint p_u_key on table p because other objects depend on it (constraint x "
            "on table c depends on index p_u_key)");
  EXPECT_EQ(Run("ALTER TABLE p DROP COLUMN u"),
            "ERROR 2BP01: cannot drop column u of table p because other objects depend on it (constraint x on table c "
            "depends on column u of table p)");
  EXPECT_EQ(Run("ALTER TABLE p RENAME TO q"), "ALTER TABLE");
  EXPECT_EQ(Run("ALTER TABLE c RENAME b TO bb"), "ALTER TABLE");
  EXPECT_EQ(Run("INSERT INTO c VALUES (NULL, 9)"), Missing("c", "x", "Key (bb)=(9) is not present in table \"q\"."));
  EXPECT_EQ(Run("ALTER TABLE c ADD n INT DEFAULT 7 REFERENCES q"),
            Missing("c", "c_n_fkey", "Key (n)=(7) is not present in table \"q\"."));
  EXPECT_EQ(Run("ALTER TABLE c ADD n INT DEFAULT 2 REFERENCES q"), "ALTER TABLE");
  EXPECT_EQ(Run("DELETE FROM q").substr(0, 11), "ERROR 23503");
  EXPECT_EQ(Run("ALTER TABLE c DROP COLUMN bb, DROP n"), "ALTER TABLE");
  EXPECT_EQ(Run("DELETE FROM q"), "DELETE 1");
  EXPECT_EQ(Run("ALTER TABLE c ADD FOREIGN KEY (a) REFERENCES q NOT VALID").substr(0, 11), "ERROR 0A000");
  EXPECT_EQ(Run("DROP TABLE q"), "DROP TABLE");
}

// A plan that was made before the constraint, or while there was one, is made anew.
TEST_F(ForeignKeyTest, CachedPlansFollow) {
  Run("CREATE TABLE p (id INT PRIMARY KEY)");
  Run("INSERT INTO p VALUES (1), (2)");
  const auto prepared = session_->Prepare("DELETE FROM p WHERE id = $1", {});
  const auto remove = [&](int64_t id) {
    auto result = session_->Execute(*prepared, {type::Datum::Int(id)}, {});
    if (!result.ok()) return std::string(result.error().sqlstate());
    type::Chunk chunk;
    return std::string((*result)->Next(chunk).sqlstate());
  };
  Run("CREATE TABLE c (a INT REFERENCES p)");
  Run("INSERT INTO c VALUES (1), (2)");
  EXPECT_EQ(remove(1), "23503");
  EXPECT_EQ(Run("DROP TABLE c"), "DROP TABLE");
  EXPECT_EQ(remove(1), "00000");
  Run("BEGIN");
  Run("CREATE TABLE c (a INT REFERENCES p)");
  EXPECT_EQ(Run("INSERT INTO c VALUES (1)").substr(0, 11), "ERROR 23503");
  Run("ROLLBACK");
  EXPECT_EQ(remove(2), "00000");
}

}  // namespace
}  // namespace sisal::db
