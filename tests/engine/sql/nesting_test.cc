// What nests deeply is refused or bound, and never overruns a stack.
#include "analyze_fixture.h"

namespace sisal::sql {
namespace {

std::string Repeat(std::string_view text, size_t count) {
  std::string all;
  all.reserve(text.size() * count);
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

class NestingTest : public AnalyzeTest,
                    public ::testing::WithParamInterface<std::pair<const char*, std::string (*)(size_t)>> {};

using Maker = std::string (*)(size_t);

const std::pair<const char*, Maker> kShapes[] = {
    {"sum", [](size_t n) { return "SELECT 1" + Repeat("+1", n); }},
    {"concatenation", [](size_t n) { return "SELECT 'a'" + Repeat("||'a'", n); }},
    {"parentheses", [](size_t n) { return "SELECT " + Repeat("(", n) + "1" + Repeat(")", n); }},
    {"negations", [](size_t n) { return "SELECT " + Repeat("NOT ", n) + "true"; }},
    {"minuses", [](size_t n) { return "SELECT " + Repeat("- ", n) + "x.a FROM (SELECT 1 a) x"; }},
    {"casts", [](size_t n) { return "SELECT 1" + Repeat("::int", n); }},
    {"casts_by_name", [](size_t n) { return "SELECT " + Repeat("CAST(", n) + "1" + Repeat(" AS int)", n); }},
    {"null_tests", [](size_t n) { return "SELECT 1" + Repeat(" IS NULL", n); }},
    {"calls", [](size_t n) { return "SELECT " + Repeat("abs(", n) + "1" + Repeat(")", n); }},
    {"cases", [](size_t n) { return "SELECT " + Repeat("CASE WHEN true THEN ", n) + "1" + Repeat(" END", n); }},
    {"case_operands", [](size_t n) { return "SELECT " + Repeat("CASE ", n) + "1" + Repeat(" WHEN 1 THEN 1 END", n); }},
    {"case_else",
     [](size_t n) { return "SELECT " + Repeat("CASE WHEN false THEN 0 ELSE ", n) + "1" + Repeat(" END", n); }},
    {"betweens", [](size_t n) { return "SELECT " + Repeat("(", n) + "true" + Repeat(" BETWEEN false AND true)", n); }},
    {"between_not", [](size_t n) { return "SELECT " + Repeat("true BETWEEN false AND NOT ", n) + "true"; }},
    {"sub_selects", [](size_t n) { return Repeat("SELECT (", n) + "SELECT 1" + Repeat(")", n); }},
    {"sub_selects_in_from", [](size_t n) { return Repeat("SELECT * FROM (", n) + "SELECT 1" + Repeat(") AS x", n); }},
    {"in_sub_selects", [](size_t n) { return "SELECT 1" + Repeat(" IN (SELECT 1", n) + Repeat(")", n); }},
    {"exists", [](size_t n) { return "SELECT " + Repeat("EXISTS (SELECT ", n) + "1" + Repeat(")", n); }},
    {"unions", [](size_t n) { return "SELECT 1" + Repeat(" UNION SELECT 1", n); }},
    {"unions_all", [](size_t n) { return "SELECT 1" + Repeat(" UNION ALL SELECT 1", n); }},
    {"excepts", [](size_t n) { return "SELECT 1" + Repeat(" EXCEPT SELECT 1", n); }},
    {"intersects_right", [](size_t n) { return Repeat("SELECT 1 INTERSECT (", n) + "SELECT 1" + Repeat(")", n); }},
    {"joins", [](size_t n) { return "SELECT 1 FROM t t0" + Repeat(" CROSS JOIN t", n); }},
    {"natural_joins", [](size_t n) { return "SELECT 1 FROM t t0" + Repeat(" NATURAL JOIN t", n); }},
    {"join_parentheses",
     [](size_t n) { return "SELECT 1 FROM " + Repeat("(", n) + "t" + Repeat(" CROSS JOIN t)", n); }},
    {"from_list", [](size_t n) { return "SELECT 1 FROM t" + Repeat(", t", n); }},
    {"values", [](size_t n) { return "SELECT * FROM (VALUES " + Repeat("(1),", n) + "(1)) v"; }},
    {"ands", [](size_t n) { return "SELECT 1 WHERE true" + Repeat(" AND 1 = 1", n); }},
    {"ors", [](size_t n) { return "SELECT 1 WHERE false" + Repeat(" OR 1 = 2", n); }},
    {"in_list", [](size_t n) { return "SELECT 1 IN (1" + Repeat(",1", n) + ")"; }},
    {"with",
     [](size_t n) {
       std::string sql = "WITH c0 AS (SELECT 1 a)";
       for (size_t i = 1; i <= n; ++i) {
         sql += ", c" + std::to_string(i) + " AS (SELECT x.a FROM c" + std::to_string(i - 1) + " x, c" +
                std::to_string(i - 1) + " y)";
       }
       return sql + " SELECT 1 FROM c" + std::to_string(n);
     }},
    {"subscripts", [](size_t n) { return "SELECT 1" + Repeat("[1]", n); }},
    {"nested_subscripts", [](size_t n) { return "SELECT a" + Repeat("[a", n) + Repeat("]", n); }},
    {"collates", [](size_t n) { return "SELECT 'a'" + Repeat(" COLLATE \"C\"", n); }},
    {"time_zones", [](size_t n) { return "SELECT now()" + Repeat(" AT TIME ZONE 'UTC'", n); }},
    {"operators", [](size_t n) { return "SELECT 1" + Repeat(" OPERATOR(pg_catalog.+) 1", n); }},
    {"coalesces", [](size_t n) { return "SELECT " + Repeat("coalesce(NULL, ", n) + "1" + Repeat(")", n); }},
    {"rows", [](size_t n) { return "SELECT " + Repeat("ROW(", n) + "1" + Repeat(")", n); }},
    {"arrays", [](size_t n) { return "SELECT ARRAY" + Repeat("[", n) + "1" + Repeat("]", n); }},
    {"explains", [](size_t n) { return Repeat("EXPLAIN ", n) + "SELECT 1"; }},
    {"statements", [](size_t n) { return Repeat("SELECT 1;", n); }},
    {"open_brackets", [](size_t n) { return "SELECT " + Repeat("(", n); }},
    {"closing_brackets", [](size_t n) { return "SELECT 1" + Repeat(")", n); }},
    {"comment", [](size_t n) { return "SELECT " + Repeat("/* ", n) + Repeat(" */", n) + " 1"; }},
};

TEST_F(NestingTest, NeverCrashes) {
  Define("CREATE TABLE t (a integer PRIMARY KEY)");
  for (const auto& [name, make] : kShapes) {
    for (const size_t count : {10u, 300u, 1900u, 100000u}) {
      const Result<StatementPtr> statement = Analyze(make(count), context_);
      if (statement.ok()) {
        if ((*statement)->plan != nullptr) Explain(*(*statement)->plan);
        continue;
      }
      const std::string_view code = statement.sqlstate();
      const bool expected = code == "54001" || code == "54000" || code == "42601" || code == "0A000" ||
                            code == "42883" || code == "42712" || code == "42804" || code == "42703";
      EXPECT_TRUE(expected) << name << " " << count << ": " << statement.error().ToString();
    }
  }
}

TEST_F(NestingTest, RefusalsNameTheLimit) {
  const Result<StatementPtr> statement = Analyze("SELECT 1" + Repeat("+1", 100'000), context_);
  ASSERT_FALSE(statement.ok());
  EXPECT_EQ(statement.error().sqlstate(), "54001");
  EXPECT_EQ(statement.error().message(), "stack depth limit exceeded");
  EXPECT_NE(statement.error().hint().find(std::to_string(kNestingMax)), std::string::npos);
  EXPECT_EQ(statement.error().limit_value(), kNestingMax);
}

TEST_F(NestingTest, PlansStayWithinAFibersStack) {
  EXPECT_EQ(Analyze(Repeat("SELECT (", 25) + "SELECT 1" + Repeat(")", 25), context_).sqlstate(), "00000");
  EXPECT_EQ(Analyze(Repeat("SELECT (", 100) + "SELECT 1" + Repeat(")", 100), context_).sqlstate(), "54001");
  EXPECT_EQ(Analyze("SELECT 1" + Repeat(" EXCEPT SELECT 2", 100), context_).sqlstate(), "00000");
  EXPECT_EQ(Analyze("SELECT 1" + Repeat(" EXCEPT SELECT 2", 500), context_).sqlstate(), "54001");
}

TEST_F(NestingTest, LongIsNotDeep) {
  EXPECT_EQ(Analyze("SELECT 1 IN (1" + Repeat(",1", 50'000) + ")", context_).sqlstate(), "00000");
  EXPECT_EQ(Analyze("SELECT 1 WHERE 1 = 1" + Repeat(" AND 1 = 1", 20'000), context_).sqlstate(), "00000");
  EXPECT_EQ(Analyze("VALUES (-1, 2 + 3)" + Repeat(", (-1, 2 + 3)", 20'000), context_).sqlstate(), "00000");
  EXPECT_EQ(Analyze("SELECT 1" + Repeat(" + 1", 1'000), context_).sqlstate(), "00000");
}

}  // namespace
}  // namespace sisal::sql
