// CREATE, DROP, and statements without a plan.
#include "analyze_fixture.h"

namespace sisal::sql {
namespace {

class DefinitionTest : public AnalyzeTest {
 protected:
  StatementPtr Made(std::string_view sql) {
    Result<StatementPtr> statement = Analyze(sql, context_);
    EXPECT_TRUE(statement.ok()) << sql << ": " << (statement.ok() ? "" : statement.error().ToString());
    return statement.ok() ? *statement : std::make_shared<const Statement>();
  }
  // "name(columns)" of the keys of the table that `sql` makes: the primary key first.
  std::string Keys(std::string_view sql) {
    const StatementPtr statement = Made(sql);
    const catalog::Table& table = *statement->create_table.table;
    std::string keys = table.primary_key_name;
    for (const catalog::Index& index : table.indexes) keys += (keys.empty() ? "" : " ") + index.name;
    return keys;
  }
};

TEST_F(DefinitionTest, NamesKeysAsPostgres) {
  EXPECT_EQ(Keys("CREATE TABLE t (a int PRIMARY KEY, b int UNIQUE, c int, UNIQUE (b, c))"), "t_pkey t_b_key t_b_c_key");
  EXPECT_EQ(Keys("CREATE TABLE t (a int CONSTRAINT x PRIMARY KEY, CONSTRAINT y UNIQUE (a))"), "x y");
  EXPECT_EQ(Keys("CREATE TABLE t (a int PRIMARY KEY UNIQUE, b int UNIQUE UNIQUE)"), "t_pkey t_b_key");
  EXPECT_EQ(Keys("CREATE TABLE long_table_name_that_is_rather_long_indeed_yes_it_is_very_long ("
                 "a_column_name_that_is_also_long_enough_to_be_cut int UNIQUE)"),
            "long_table_name_that_is_rathe_a_column_name_that_is_also_lo_key");
}

TEST_F(DefinitionTest, NumbersNamesThatAreTaken) {
  Define("CREATE TABLE a_b (c int UNIQUE)");
  EXPECT_EQ(Keys("CREATE TABLE a (b_c int UNIQUE)"), "a_b_c_key1");
  Define("CREATE TABLE a (b_c int UNIQUE)");
  EXPECT_EQ(Made("CREATE INDEX ON a (b_c, b_c DESC)")->create_index.index.name, "a_b_c_b_c1_idx");
  Define("CREATE INDEX ON a (b_c)");
  EXPECT_EQ(Made("CREATE INDEX ON a (b_c)")->create_index.index.name, "a_b_c_idx1");
}

TEST_F(DefinitionTest, KeepsDefaultsAsText) {
  const StatementPtr statement = Made(
      "CREATE TABLE t (a int DEFAULT 1 + 2 * (3 + 4) NOT NULL UNIQUE, b text DEFAULT 'x, y)' , c numeric(5,2) NOT NULL "
      "DEFAULT -1.5, d text DEFAULT lower('A') || 'b' /* note */, e boolean DEFAULT 1 IS NOT DISTINCT FROM 2 UNIQUE,"
      " f int CONSTRAINT q DEFAULT 7 -- the end\n)");
  const auto& columns = statement->create_table.table->columns;
  EXPECT_EQ(columns[0].default_sql, "1 + 2 * (3 + 4)");
  EXPECT_EQ(columns[1].default_sql, "'x, y)'");
  EXPECT_EQ(columns[2].default_sql, "-1.5");
  EXPECT_EQ(columns[3].default_sql, "lower('A') || 'b'");
  EXPECT_EQ(columns[4].default_sql, "1 IS NOT DISTINCT FROM 2");
  EXPECT_EQ(columns[5].default_sql, "7");
  EXPECT_TRUE(columns[0].not_null);
  EXPECT_FALSE(columns[1].not_null);
  EXPECT_TRUE(columns[2].not_null);
}

TEST_F(DefinitionTest, NamesAndKeepsChecks) {
  const auto checks = [&](std::string_view sql) {
    std::string text;
    const StatementPtr statement = Made(sql);
    for (const catalog::Check& check : statement->create_table.table->checks) {
      text += (text.empty() ? "" : "; ") + check.name + ": " + check.sql;
    }
    return text;
  };
  EXPECT_EQ(checks("CREATE TABLE t (a int CHECK (a > 0), b int CHECK (b > a), CHECK ((a) < 100), CHECK (1 = 1), "
                   "CONSTRAINT zz CHECK (a <> 7) NO INHERIT, CHECK (a > 9) NOT VALID)"),
            "t_a_check: a > 0; t_a_check1: (a) < 100; t_a_check2: a > 9; t_check: b > a; t_check1: 1 = 1; zz: a <> 7");
  EXPECT_EQ(checks("CREATE TABLE t (a int, CONSTRAINT t_a_check CHECK (t . a > 0), CHECK (public.t.a < 5))"),
            "t_a_check: a > 0; t_a_check1: a < 5");
  Define("CREATE TABLE u (a int CONSTRAINT v_a_check CHECK (a > 0), b int CONSTRAINT v_pkey CHECK (b > 0))");
  EXPECT_EQ(checks("CREATE TABLE v (a int CHECK (a > 0))"), "v_a_check1: a > 0");
  EXPECT_EQ(Keys("CREATE TABLE v (a int PRIMARY KEY)"), "v_pkey1");
}

TEST_F(DefinitionTest, RefusesAsPostgres) {
  Define("CREATE TABLE t (a int PRIMARY KEY, b int UNIQUE)");
  const std::pair<const char*, const char*> cases[] = {
      {"CREATE TABLE d (a int, a text)", "42701@0 column \"a\" specified more than once"},
      {"CREATE TABLE d (a int PRIMARY KEY, b int PRIMARY KEY)",
       "42P16@42 multiple primary keys for table \"d\" are not allowed"},
      {"CREATE TABLE d (a int, PRIMARY KEY (zz))", "42703@24 column \"zz\" named in key does not exist"},
      {"CREATE TABLE d (a int, PRIMARY KEY (a, a))", "42701@24 column \"a\" appears twice in primary key constraint"},
      {"CREATE TABLE d (a int NULL NOT NULL)",
       "42601@28 conflicting NULL/NOT NULL declarations for column \"a\" of table \"d\""},
      {"CREATE TABLE d (a int DEFAULT 'x')", "22P02@31 invalid input syntax for type integer: \"x\""},
      {"CREATE TABLE d (a int DEFAULT true)",
       "42804@0 column \"a\" is of type integer but default expression is of type boolean"},
      {"CREATE TABLE d (a int DEFAULT b, b int)", "0A000@31 cannot use column reference in DEFAULT expression"},
      {"CREATE TABLE d (a int DEFAULT (SELECT 1))", "0A000@31 cannot use subquery in DEFAULT expression"},
      {"CREATE TABLE d (a int DEFAULT $1)", "42P02@31 there is no parameter $1"},
      {"CREATE TABLE d (ctid int)", "42701@0 column name \"ctid\" conflicts with a system column name"},
      {"CREATE TABLE d (a nope)", "42704@19 type \"nope\" does not exist"},
      {"CREATE TABLE d (a int, CHECK (sum(a) > 1))",
       "42803@31 aggregate functions are not allowed in check constraints"},
      {"CREATE TABLE d (a int, CHECK (a > (SELECT 1)))", "0A000@35 cannot use subquery in check constraint"},
      {"CREATE TABLE d (a int, CHECK (row_number() OVER () > 1))",
       "42P20@31 window functions are not allowed in check constraints"},
      {"CREATE TABLE d (a int, CHECK (generate_series(1, a) > 1))",
       "0A000@31 set-returning functions are not allowed in check constraints"},
      {"CREATE TABLE d (a int, CHECK (a))", "42804@31 argument of CHECK must be type boolean, not type integer"},
      {"CREATE TABLE d (a int CHECK ('x'))", "22P02@30 invalid input syntax for type boolean: \"x\""},
      {"CREATE TABLE d (a int, CHECK (b > 1))", "42703@31 column \"b\" does not exist"},
      {"CREATE TABLE d (a int, CHECK (t.b > 1))", "42P01@31 missing FROM-clause entry for table \"t\""},
      {"CREATE TABLE d (a int CHECK (a > $1))", "42P02@34 there is no parameter $1"},
      {"CREATE TABLE d (a int, CONSTRAINT x CHECK (a > 0), CONSTRAINT x CHECK (a > 1))",
       "42710@0 check constraint \"x\" already exists"},
      {"CREATE TABLE d (a int, CHECK (a > 1), CONSTRAINT d_a_check CHECK (a > 0))",
       "42710@0 check constraint \"d_a_check\" already exists"},
      {"CREATE TABLE d (a int CONSTRAINT x PRIMARY KEY, CONSTRAINT x CHECK (a > 0))",
       "42710@0 constraint \"x\" for relation \"d\" already exists"},
      {"CREATE TABLE d (a int REFERENCES t DEFERRABLE)", "0A000@36 DEFERRABLE is not supported"},
      {"CREATE TABLE d (a int, FOREIGN KEY (a) REFERENCES t INITIALLY DEFERRED)",
       "0A000@24 DEFERRABLE is not supported"},
      {"CREATE TABLE d (a int CHECK (a > 0) NOT DEFERRABLE)", "42601@37 misplaced NOT DEFERRABLE clause"},
      {"CREATE TABLE d (a int REFERENCES nope)", "42P01@0 relation \"nope\" does not exist"},
      {"CREATE TABLE d (a int REFERENCES t (zz))",
       "42703@0 column \"zz\" referenced in foreign key constraint does not exist"},
      {"CREATE TABLE d (a int, FOREIGN KEY (zz) REFERENCES t)",
       "42703@0 column \"zz\" referenced in foreign key constraint does not exist"},
      {"CREATE TABLE d (a int, b int, FOREIGN KEY (a, b) REFERENCES t (a, b))",
       "42830@0 there is no unique constraint matching given keys for referenced table \"t\""},
      {"CREATE TABLE d (a int, b int, FOREIGN KEY (a, b) REFERENCES t (b))",
       "42830@0 number of referencing and referenced columns for foreign key disagree"},
      {"CREATE TABLE d (a int, b int, FOREIGN KEY (a, b) REFERENCES t (b, b))",
       "42830@0 foreign key referenced-columns list must not contain duplicates"},
      {"CREATE TABLE d (a int REFERENCES d)", "42704@0 there is no primary key for referenced table \"d\""},
      {"CREATE TABLE d (a text REFERENCES t)", "42804@0 foreign key constraint \"d_a_fkey\" cannot be implemented"},
      {"CREATE TABLE d (a int CONSTRAINT x REFERENCES t, b int CONSTRAINT x REFERENCES t)",
       "42710@0 constraint \"x\" for relation \"d\" already exists"},
      {"CREATE TABLE d (a int, b int REFERENCES t ON DELETE SET NULL (a))",
       "42P10@0 column \"a\" referenced in ON DELETE SET action must be part of foreign key"},
      {"CREATE TEMP TABLE d (a int)", "0A000@19 a temporary table is not supported"},
      {"CREATE TABLE nope.d (a int)", "3F000@14 schema \"nope\" does not exist"},
      {"CREATE INDEX ON nope (a)", "42P01@0 relation \"nope\" does not exist"},
      {"CREATE INDEX ON t (zz)", "42703@0 column \"zz\" does not exist"},
      {"CREATE INDEX ON t ((a + 1))", "0A000@21 an index on an expression is not supported"},
      {"DROP TABLE nope", "42P01@0 table \"nope\" does not exist"},
      {"DROP TABLE t_pkey", "42809@0 \"t_pkey\" is not a table"},
      {"DROP INDEX t", "42809@0 \"t\" is not an index"},
      {"DROP INDEX nope", "42704@0 index \"nope\" does not exist"},
      {"DROP INDEX t_b_key", "2BP01@0 cannot drop index t_b_key because constraint t_b_key on table t requires it"},
      {"DROP VIEW v", "42P01@0 view \"v\" does not exist"},
      {"ALTER TABLE t OWNER TO me", "0A000@0 OWNER TO is not supported"},
      {"PREPARE TRANSACTION 'x'", "0A000@0 two-phase commit is not supported"},
  };
  for (const auto& [sql, expected] : cases) EXPECT_EQ(Outcome(sql), expected) << sql;
}

TEST_F(DefinitionTest, DropsTellWhatIsMissing) {
  Define("CREATE TABLE t (a int)");
  const StatementPtr statement = Made("DROP TABLE IF EXISTS t, nope, public.none, t");
  ASSERT_EQ(statement->drop.tables.size(), 1u);
  EXPECT_EQ(statement->drop.missing, (std::vector<std::string>{"nope", "public.none"}));
}

TEST_F(DefinitionTest, TransactionsAndSettings) {
  const StatementPtr begin = Made("BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, NOT DEFERRABLE");
  EXPECT_EQ(begin->kind, StatementKind::kBegin);
  EXPECT_EQ(begin->transaction.isolation, txn::Isolation::kSerializable);
  EXPECT_EQ(begin->transaction.read_only, true);
  EXPECT_EQ(begin->transaction.deferrable, false);
  EXPECT_FALSE(begin->depends_on_catalog);
  EXPECT_EQ(Made("START TRANSACTION")->transaction.isolation, std::nullopt);
  EXPECT_EQ(Made("ROLLBACK TO SAVEPOINT x")->transaction.savepoint, "x");
  EXPECT_EQ(Made("END")->kind, StatementKind::kCommit);
  EXPECT_TRUE(Made("COMMIT AND CHAIN")->transaction.chain);
  EXPECT_EQ(Made("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")->transaction.isolation, txn::Isolation::kSnapshot);
  const StatementPtr set = Made("SET LOCAL Statement_Timeout = -5");
  EXPECT_EQ(set->setting.name, "statement_timeout");
  EXPECT_EQ(set->setting.value, "-5");
  EXPECT_TRUE(set->setting.local);
  EXPECT_EQ(Made("SET search_path TO a, 'b'")->setting.value, "a, b");
  EXPECT_TRUE(Made("SET x TO DEFAULT")->setting.is_default);
  EXPECT_EQ(Made("RESET ALL")->setting.name, "all");
  EXPECT_EQ(Signature("SHOW TIME ZONE"), "TimeZone text");
}

}  // namespace
}  // namespace sisal::sql
