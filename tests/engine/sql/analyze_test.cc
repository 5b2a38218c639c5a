#include "analyze_fixture.h"

namespace sisal::sql {
namespace {

struct Case {
  std::string sql;
  std::string expected;
};

class QueryTest : public AnalyzeTest {
 protected:
  QueryTest() {
    Define(
        "CREATE TABLE t (id integer PRIMARY KEY, a integer NOT NULL, b bigint, s text, v varchar(10), n numeric(10,2),"
        " f boolean, d double precision, ts timestamptz)");
    Define("CREATE TABLE u (w smallint, k bigint, x integer, y text DEFAULT 'none', PRIMARY KEY (w, k))");
    Define("CREATE INDEX u_x ON u (x, y DESC)");
    Define("CREATE TABLE h (p integer, q text UNIQUE)");
  }
};

TEST_F(QueryTest, Plans) {
  const std::vector<Case> cases = {
      {"SELECT 1", "Project: 1\n  Values: 1 row"},
  };
  for (const Case& c : cases) EXPECT_EQ(Outcome(c.sql), c.expected) << c.sql;
}

}  // namespace
}  // namespace sisal::sql
