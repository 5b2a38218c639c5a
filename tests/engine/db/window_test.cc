// Window functions end to end: frames against sub-selects that say the same, borders of partitions, limits.
#include <random>

#include "sql_fixture.h"

namespace sisal::db {
namespace {

class WindowTest : public SqlFixture {
 protected:
  // t(rn, p, k, x, n, d, s): rn counts the rows of all partitions p in order; k has peers within a partition.
  void MakeRows(int count, int partition_rows, unsigned seed) {
    Run("CREATE TABLE t (rn INTEGER PRIMARY KEY, p INTEGER, k INTEGER, x INTEGER, n NUMERIC, d DOUBLE PRECISION,"
        " s TEXT)");
    std::mt19937 random(seed);
    std::string values;
    int key = 0;
    for (int rn = 1; rn <= count; ++rn) {
      const int partition = (rn - 1) / partition_rows;
      key += static_cast<int>(random() % 3);
      const auto value = [&](const std::string& text) { return random() % 7 == 0 ? std::string("NULL") : text; };
      const auto number = [&] { return std::to_string(static_cast<int>(random() % 1000) - 500); };
      values += (values.empty() ? "(" : ", (") + std::to_string(rn) + ", " + std::to_string(partition) + ", " +
                std::to_string(key) + ", " + value(number()) + ", " + value(number() + ".25") + ", " + value(number()) +
                ", " + value("'w" + number() + "'") + ")";
      if (rn % 500 != 0 && rn != count) continue;
      ASSERT_EQ(Run("INSERT INTO t VALUES " + values).substr(0, 6), "INSERT");
      values.clear();
    }
  }

  // The window function gives in each row what the sub-select over the rows `within` the frame gives.
  void ExpectSame(const std::string& aggregate, const std::string& over, const std::string& within) {
    const std::string window = Run("SELECT rn, " + aggregate + " OVER (" + over + ") FROM t a ORDER BY rn");
    const std::string plain =
        Run("SELECT rn, (SELECT " + aggregate + " FROM t b WHERE b.p = a.p AND " + within + ") FROM t a ORDER BY rn");
    ASSERT_EQ(window.substr(0, 5) == "ERROR", false) << window;
    EXPECT_EQ(window, plain) << aggregate << " OVER (" << over << ")";
  }
};

constexpr const char* kAggregates[] = {"count(*)", "count(x)", "sum(x)", "avg(x)",       "sum(n)",
                                       "min(x)",   "max(s)",   "avg(d)", "stddev_pop(x)"};

TEST_F(WindowTest, RowFramesHoldTheirRows) {
  MakeRows(400, 130, 1);
  const std::string rows = "PARTITION BY p ORDER BY rn ROWS BETWEEN ";
  for (const std::string aggregate : kAggregates) {
    ExpectSame(aggregate, rows + "UNBOUNDED PRECEDING AND CURRENT ROW", "b.rn <= a.rn");
    ExpectSame(aggregate, rows + "2 PRECEDING AND 1 FOLLOWING", "b.rn BETWEEN a.rn - 2 AND a.rn + 1");
    ExpectSame(aggregate, rows + "3 PRECEDING AND 2 PRECEDING", "b.rn BETWEEN a.rn - 3 AND a.rn - 2");
    ExpectSame(aggregate, rows + "2 PRECEDING AND 3 PRECEDING", "false");
    ExpectSame(aggregate, rows + "CURRENT ROW AND UNBOUNDED FOLLOWING", "b.rn >= a.rn");
    ExpectSame(aggregate, rows + "2 FOLLOWING AND 2 FOLLOWING", "b.rn = a.rn + 2");
    ExpectSame(aggregate, rows + "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW", "b.rn <> a.rn");
  }
}

TEST_F(WindowTest, LongMovingFramesHoldTheirRows) {
  MakeRows(2500, 2400, 2);
  const std::string rows = "PARTITION BY p ORDER BY rn ROWS BETWEEN ";
  for (const std::string aggregate : {"sum(x)", "sum(n)", "min(n)", "max(s)", "bit_xor(x)"}) {
    ExpectSame(aggregate, rows + "300 PRECEDING AND 77 FOLLOWING", "b.rn BETWEEN a.rn - 300 AND a.rn + 77");
    ExpectSame(aggregate, rows + "1500 PRECEDING AND 1 PRECEDING EXCLUDE CURRENT ROW",
               "b.rn BETWEEN a.rn - 1500 AND a.rn - 1");
  }
}

TEST_F(WindowTest, GroupsAndRangesFollowTheKey) {
  MakeRows(170, 70, 3);
  const std::string by = "PARTITION BY p ORDER BY k ";
  for (const std::string aggregate : {"count(*)", "sum(x)", "max(n)"}) {
    ExpectSame(aggregate, by, "b.k <= a.k");
    ExpectSame(aggregate, by + "DESC", "b.k >= a.k");
    ExpectSame(aggregate, by + "RANGE BETWEEN 3 PRECEDING AND 1 FOLLOWING", "b.k BETWEEN a.k - 3 AND a.k + 1");
    ExpectSame(aggregate, by + "DESC RANGE BETWEEN 3 PRECEDING AND 1 FOLLOWING", "b.k BETWEEN a.k - 1 AND a.k + 3");
    ExpectSame(aggregate, by + "RANGE BETWEEN 2 FOLLOWING AND 4 FOLLOWING", "b.k BETWEEN a.k + 2 AND a.k + 4");
    ExpectSame(aggregate, by + "GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
               "b.k BETWEEN coalesce((SELECT max(c.k) FROM t c WHERE c.p = a.p AND c.k < a.k), a.k) AND a.k");
    ExpectSame(aggregate, by + "RANGE CURRENT ROW EXCLUDE TIES", "b.rn = a.rn");
    ExpectSame(aggregate, by + "RANGE UNBOUNDED PRECEDING EXCLUDE GROUP", "b.k < a.k");
    ExpectSame(aggregate, by + "RANGE UNBOUNDED PRECEDING EXCLUDE TIES", "(b.k < a.k OR b.rn = a.rn)");
  }
}

TEST_F(WindowTest, FiltersAndConstantArgumentsCount) {
  MakeRows(300, 100, 4);
  ExpectSame("sum(x) FILTER (WHERE x > 0)", "PARTITION BY p ORDER BY rn ROWS 4 PRECEDING",
             "b.rn BETWEEN a.rn - 4 AND a.rn");
  ExpectSame("sum(2)", "PARTITION BY p ORDER BY rn ROWS 4 PRECEDING", "b.rn BETWEEN a.rn - 4 AND a.rn");
  ExpectSame("count(NULL)", "PARTITION BY p", "true");
  ExpectSame("sum(x + k)", "PARTITION BY p ORDER BY rn", "b.rn <= a.rn");
}

// Blocks of rows have 1024, chunks up to 2048.
TEST_F(WindowTest, PartitionsOfAnySize) {
  for (const int size : {1, 3, 1023, 1024, 1025, 2047, 2048, 2049, 5000}) {
    const std::string partitions =
        "SELECT g, (g - 1) / " + std::to_string(size) + " AS p FROM generate_series(1, 7000) g";
    EXPECT_EQ(Run("SELECT count(*) FROM (SELECT row_number() OVER w AS r, count(*) OVER (PARTITION BY p) AS c,"
                  " sum(g) OVER w AS s, lag(g) OVER w AS l, first_value(g) OVER w AS f, p, g FROM (" +
                  partitions + ") t WINDOW w AS (PARTITION BY p ORDER BY g)) t WHERE r = g - p * " +
                  std::to_string(size) + " AND c = least(" + std::to_string(size) + ", 7000 - p * " +
                  std::to_string(size) + ") AND f = p * " + std::to_string(size) +
                  " + 1 AND s = (g - f + 1) * (f + g) / 2 AND l IS NOT DISTINCT FROM CASE WHEN r > 1 THEN g - 1 END"),
              "7000\n")
        << size;
  }
}

TEST_F(WindowTest, StringsOfAFrameKeepTheirOrder) {
  EXPECT_EQ(Run("SELECT string_agg(g::text, ',') OVER (ORDER BY g ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING),"
                " string_agg(g::text, ',') OVER (ORDER BY g DESC),"
                " string_agg(g::text, '') OVER (ORDER BY g ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
                " EXCLUDE CURRENT ROW) FROM generate_series(1, 4) g ORDER BY g"),
            "1,2|4,3,2,1|234\n1,2,3|4,3,2|134\n2,3,4|4,3|124\n3,4|4|123\n");
}

TEST_F(WindowTest, ScalesAreThoseOfTheFrame) {
  EXPECT_EQ(Run("SELECT sum(v) OVER (ORDER BY i ROWS 1 PRECEDING) FROM (VALUES (1, 1.5), (2, 2.25), (3, 3), (4, 4))"
                " t(i, v) ORDER BY i"),
            "1.5\n3.75\n5.25\n7\n");
}

TEST_F(WindowTest, CorrelatedWindowsStartAnew) {
  EXPECT_EQ(Run("SELECT g, (SELECT sum(h) OVER (ORDER BY h ROWS g PRECEDING) FROM generate_series(1, 5) h"
                " ORDER BY h DESC LIMIT 1) FROM generate_series(0, 3) g"),
            "0|5\n1|9\n2|12\n3|14\n");
}

TEST_F(WindowTest, InsertsWhatAWindowGives) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, r INTEGER)");
  Run("INSERT INTO t SELECT g, row_number() OVER (ORDER BY g DESC) FROM generate_series(1, 5) g");
  EXPECT_EQ(Run("INSERT INTO t SELECT id + 10, sum(r) OVER (ORDER BY id) FROM t"), "INSERT 5");
  EXPECT_EQ(Run("SELECT * FROM t WHERE id > 10"), "11|5\n12|9\n13|12\n14|14\n15|15\n");
}

TEST_F(WindowTest, MemoryIsBounded) {
  options_.statement_memory_bytes_max = 2 << 20;
  Reopen();
  EXPECT_EQ(Run("SELECT count(*) FROM (SELECT sum(g) OVER () FROM generate_series(1, 300000) g) t").substr(0, 11),
            "ERROR 53200");
  // A partition at a time is held.
  Run("CREATE TABLE t (p INTEGER, id INTEGER, PRIMARY KEY (p, id))");
  for (const std::string p : {"0", "1", "2", "3"}) {
    Run("INSERT INTO t SELECT " + p + ", g FROM generate_series(1, 20000) g");
  }
  EXPECT_EQ(Run("SELECT max(c), count(*) FROM (SELECT count(*) OVER (PARTITION BY p) AS c FROM t) t"), "20000|80000\n");
  EXPECT_EQ(Run("SELECT max(length(s)) FROM (SELECT string_agg('0123456789', '') OVER (ORDER BY g) AS s FROM"
                " generate_series(1, 100000) g) t")
                .substr(0, 11),
            "ERROR 53200");
}

// EXCLUDE may take off the end of a frame that had one piece before.
TEST_F(WindowTest, AFrameThatLosesItsEndIsComputedAnew) {
  auto prepared = session_->Prepare(
      "SELECT count(*) OVER (ORDER BY n RANGE BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING EXCLUDE TIES) "
      "FROM (VALUES (1, 5), (2, 4), (4, null), (8, null), (16, null)) w(v, n)",
      {});
  ASSERT_TRUE(prepared.ok());
  auto result = session_->Execute(*prepared, {}, {});
  ASSERT_TRUE(result.ok());
  std::vector<int64_t> counts;
  type::Chunk chunk;
  while ((*result)->Next(chunk).ok() && chunk.row_count > 0) {
    for (uint32_t i = 0; i < chunk.row_count; ++i) counts.push_back(chunk.columns[0].ints[i]);
  }
  EXPECT_EQ(counts, (std::vector<int64_t>{3, 3, 1, 1, 1}));
}

TEST_F(WindowTest, LongPartitionsStopWhenAsked) {
  auto prepared = session_->Prepare("SELECT sum(g) OVER () FROM generate_series(1, 100000) g", {});
  ASSERT_TRUE(prepared.ok());
  io::CancelToken cancel;
  CallOptions options;
  options.cancel = &cancel;
  auto result = session_->Execute(*prepared, {}, options);
  ASSERT_TRUE(result.ok());
  type::Chunk chunk;
  ASSERT_TRUE((*result)->Next(chunk).ok());
  cancel.Cancel(Error("57014", "asked"));
  EXPECT_EQ((*result)->Next(chunk).sqlstate(), "57014");
}

}  // namespace
}  // namespace sisal::db
