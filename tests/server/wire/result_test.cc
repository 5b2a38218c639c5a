// Reads with the generated classes what the encoder wrote by hand.
#include "sisal/wire/result.h"

#include <gtest/gtest.h>

#include "sisal/base/random.h"
#include "sisal/type/numeric.h"
#include "sisal/v1/request.pb.h"
#include "sisal/v1/result.pb.h"

namespace sisal::wire {
namespace {

using type::TypeId;
using type::Vector;

const type::TextSettings kSettings;

// A chunk of the given columns, one vector each.
struct Rows {
  explicit Rows(std::vector<type::SqlType> types, uint32_t count) {
    for (const type::SqlType& type : types) {
      columns.push_back({"c" + std::to_string(columns.size()), type, false});
      vectors.push_back(type::MakeVector(type, count, arena));
      type::EnsureNulls(vectors.back(), count, arena);
    }
    chunk = {count, vectors};
  }
  Arena arena;
  std::vector<sql::OutputColumn> columns;
  std::vector<Vector> vectors;
  type::Chunk chunk;
};

v1::ResultChunk Encode(const Rows& rows, Encoding encoding) {
  ChunkEncoder encoder(rows.columns, encoding, kSettings);
  encoder.Append(rows.chunk, 0, rows.chunk.row_count);
  Buffer out;
  encoder.Finish(2, out);
  v1::ExecuteResponse response;
  EXPECT_TRUE(response.ParseFromArray(out.data(), static_cast<int>(out.size())));
  return response.chunk();
}

Rows ThreeRows() {
  Rows rows({TypeId::kInteger, TypeId::kText, TypeId::kDouble, TypeId::kBoolean, TypeId::kNumeric, TypeId::kBytea}, 3);
  static const std::string one_and_half = type::Numeric::Parse("1.50").value().Encode();
  for (uint32_t i = 0; i < 3; ++i) {
    rows.vectors[0].ints[i] = static_cast<int64_t>(i) - 1;
    rows.vectors[1].bytes[i] = i == 0 ? "" : "text";
    rows.vectors[2].doubles[i] = 0.5 * i;
    rows.vectors[3].ints[i] = i == 2;
    rows.vectors[4].bytes[i] = one_and_half;
    rows.vectors[5].bytes[i] = "\xFF";
  }
  for (Vector& vector : rows.vectors) vector.SetNull(1);
  return rows;
}

TEST(ChunkEncoderTest, Columns) {
  const Rows rows = ThreeRows();
  const v1::ColumnBatch batch = Encode(rows, Encoding::kColumns).batch();
  EXPECT_EQ(batch.row_count(), 3u);
  ASSERT_EQ(batch.columns_size(), 6);
  for (const v1::Column& column : batch.columns()) EXPECT_EQ(column.null_bitmap(), "\x02");
  const auto& ids = batch.columns(0).integers();
  EXPECT_EQ(std::vector<int64_t>(ids.begin(), ids.end()), (std::vector<int64_t>{-1, 0, 1}));
  EXPECT_EQ(batch.columns(1).texts_size(), 3);
  EXPECT_EQ(batch.columns(1).texts(0), "");
  EXPECT_EQ(batch.columns(1).texts(2), "text");
  EXPECT_EQ(batch.columns(2).numbers(2), 1.0);
  EXPECT_EQ(batch.columns(3).booleans_size(), 3);
  EXPECT_TRUE(batch.columns(3).booleans(2));
  EXPECT_EQ(batch.columns(4).texts(0), "1.50");
  EXPECT_EQ(batch.columns(4).texts(1), "");
  EXPECT_EQ(batch.columns(5).blobs(0), "\xFF");
}

TEST(ChunkEncoderTest, Packed) {
  const Rows rows = ThreeRows();
  const v1::ColumnBatch batch = Encode(rows, Encoding::kPacked).batch();
  const v1::Column& texts = batch.columns(1);
  EXPECT_EQ(texts.texts_size(), 0);
  EXPECT_EQ(texts.packed(), "text");
  EXPECT_EQ(std::vector<uint32_t>(texts.lengths().begin(), texts.lengths().end()), (std::vector<uint32_t>{0, 0, 4}));
  EXPECT_EQ(batch.columns(4).packed(), "1.501.50");
  EXPECT_EQ(batch.columns(0).integers_size(), 3);
}

TEST(ChunkEncoderTest, Values) {
  const Rows rows = ThreeRows();
  const v1::RowList list = Encode(rows, Encoding::kValues).values();
  ASSERT_EQ(list.rows_size(), 3);
  for (const v1::Value& value : list.rows(1).values()) EXPECT_TRUE(value.null());
  EXPECT_EQ(list.rows(0).values(0).integer(), -1);
  EXPECT_EQ(list.rows(2).values(0).kind_case(), v1::Value::kInteger);
  EXPECT_EQ(list.rows(0).values(1).kind_case(), v1::Value::kText);
  EXPECT_EQ(list.rows(0).values(2).kind_case(), v1::Value::kNumber);
  EXPECT_EQ(list.rows(0).values(3).kind_case(), v1::Value::kBoolean);
  EXPECT_EQ(list.rows(0).values(4).text(), "1.50");
  EXPECT_EQ(list.rows(0).values(5).blob(), "\xFF");
}

TEST(ChunkEncoderTest, DatesAreNumbersInColumnsAndTextInValues) {
  Rows rows({TypeId::kDate, TypeId::kTimestamp, TypeId::kUuid}, 1);
  rows.vectors[0].ints[0] = 1;
  rows.vectors[1].ints[0] = 1'500'000;
  rows.vectors[2].bytes[0] = "0123456789abcdef";
  const v1::ColumnBatch batch = Encode(rows, Encoding::kColumns).batch();
  EXPECT_EQ(batch.columns(0).integers(0), 1);
  EXPECT_EQ(batch.columns(1).integers(0), 1'500'000);
  EXPECT_EQ(batch.columns(2).blobs(0), "0123456789abcdef");
  const v1::Row row = Encode(rows, Encoding::kValues).values().rows(0);
  EXPECT_EQ(row.values(0).text(), "1970-01-02");
  EXPECT_EQ(row.values(1).text(), "1970-01-01 00:00:01.5");
  EXPECT_EQ(row.values(2).text(), "30313233-3435-3637-3839-616263646566");
}

TEST(ChunkEncoderTest, NoRowsAndNoColumnsAreStillAChunk) {
  const Rows none({TypeId::kInteger}, 0);
  EXPECT_TRUE(Encode(none, Encoding::kColumns).has_batch());
  EXPECT_EQ(Encode(none, Encoding::kColumns).batch().columns_size(), 1);
  EXPECT_TRUE(Encode(none, Encoding::kValues).has_values());
  Rows bare({}, 2);
  EXPECT_EQ(Encode(bare, Encoding::kColumns).batch().row_count(), 2u);
  EXPECT_EQ(Encode(bare, Encoding::kValues).values().rows_size(), 2);
}

TEST(ChunkEncoderTest, SeveralVectorsMakeOneChunkAndNullsKeepTheirPlaces) {
  const uint64_t seed = SecureRandom64();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  Rows rows({TypeId::kBigint, TypeId::kText}, 1000);
  std::vector<std::string> texts(1000);
  for (uint32_t i = 0; i < 1000; ++i) {
    rows.vectors[0].ints[i] = static_cast<int64_t>(random.Next());
    texts[i] = std::string(random.Below(200), 'x');
    rows.vectors[1].bytes[i] = texts[i];
    if (random.OneIn(7)) rows.vectors[random.Below(2)].SetNull(i);
  }
  ChunkEncoder encoder(rows.columns, Encoding::kColumns, kSettings);
  uint32_t from = 0;
  while (from < 1000) {
    const uint32_t upto = std::min<uint32_t>(1000, from + 1 + static_cast<uint32_t>(random.Below(100)));
    encoder.Append(rows.chunk, from, upto);
    from = upto;
  }
  Buffer out;
  encoder.Finish(2, out);
  EXPECT_EQ(encoder.row_count(), 0u);
  v1::ExecuteResponse response;
  ASSERT_TRUE(response.ParseFromArray(out.data(), static_cast<int>(out.size())));
  const v1::ColumnBatch& batch = response.chunk().batch();
  ASSERT_EQ(batch.row_count(), 1000u);
  for (int c = 0; c < 2; ++c) {
    const std::string& nulls = batch.columns(c).null_bitmap();
    for (uint32_t i = 0; i < 1000; ++i) {
      const bool null = i / 8 < nulls.size() && (nulls[i / 8] >> i % 8 & 1) != 0;
      ASSERT_EQ(null, rows.vectors[static_cast<size_t>(c)].IsNull(i)) << i;
      if (null) continue;
      if (c == 0) {
        ASSERT_EQ(batch.columns(0).integers(static_cast<int>(i)), rows.vectors[0].ints[i]);
      } else {
        ASSERT_EQ(batch.columns(1).texts(static_cast<int>(i)), texts[i]);
      }
    }
  }
}

TEST(ChunkEncoderTest, BudgetCutsBetweenRowsAndALongRowGoesAlone) {
  Rows rows({TypeId::kText}, 4);
  const std::string long_text(1000, 'x');
  for (uint32_t i = 0; i < 4; ++i) rows.vectors[0].bytes[i] = i == 2 ? std::string_view(long_text) : "a";
  ChunkEncoder encoder(rows.columns, Encoding::kColumns, kSettings);
  EXPECT_EQ(encoder.RowsThatFit(rows.chunk, 0, 100), 2u);
  EXPECT_EQ(encoder.RowsThatFit(rows.chunk, 2, 100), 1u);
  encoder.Append(rows.chunk, 0, 2);
  EXPECT_EQ(encoder.RowsThatFit(rows.chunk, 2, 100), 0u);
}

TEST(HeaderTest, DescribesColumnsOnceTheShapeIsKnown) {
  type::SqlType numeric(TypeId::kNumeric);
  numeric.precision = 10, numeric.scale = 2;
  type::SqlType varchar(TypeId::kVarchar);
  varchar.length = 20;
  const std::vector<sql::OutputColumn> columns = {{"n", numeric, true}, {"v", varchar, false}};
  Buffer out;
  WriteHeader(1, columns, {.statement_id = "0123456789abcdef"}, out);
  v1::ExecuteResponse response;
  ASSERT_TRUE(response.ParseFromArray(out.data(), static_cast<int>(out.size())));
  const v1::ResultHeader header = response.header();
  ASSERT_EQ(header.columns_size(), 2);
  EXPECT_EQ(header.columns(0).name(), "n");
  EXPECT_EQ(header.columns(0).type(), v1::TYPE_CODE_NUMERIC);
  EXPECT_EQ(header.columns(0).precision(), 10u);
  EXPECT_EQ(header.columns(0).scale(), 2);
  EXPECT_TRUE(header.columns(0).not_null());
  EXPECT_EQ(header.columns(1).length(), 20u);
  EXPECT_EQ(header.columns(1).sql_type(), "");
  EXPECT_EQ(header.statement_id(), "0123456789abcdef");
  EXPECT_NE(header.shape(), 0u);

  Buffer again;
  HeaderOptions known;
  known.known_shape = header.shape();
  WriteHeader(1, columns, known, again);
  v1::ExecuteResponse short_response;
  ASSERT_TRUE(short_response.ParseFromArray(again.data(), static_cast<int>(again.size())));
  EXPECT_TRUE(short_response.has_header());
  EXPECT_EQ(short_response.header().columns_size(), 0);
  EXPECT_EQ(short_response.header().shape(), header.shape());
}

TEST(HeaderTest, ShapeDependsOnNamesAndTypes) {
  const std::vector<sql::OutputColumn> a = {{"x", TypeId::kInteger, false}};
  const std::vector<sql::OutputColumn> b = {{"y", TypeId::kInteger, false}};
  const std::vector<sql::OutputColumn> c = {{"x", TypeId::kBigint, false}};
  EXPECT_NE(ShapeOf(a), ShapeOf(b));
  EXPECT_NE(ShapeOf(a), ShapeOf(c));
  EXPECT_EQ(ShapeOf(a), ShapeOf(a));
}

TEST(TrailerTest, ReadsBack) {
  TransactionState state;
  state.handle = "handle";
  state.phase = Phase::kCommitted;
  state.commit_position = Timestamp(0x0102);
  state.attempts = 2;
  db::CallStats stats;
  stats.rows_read = 300;
  stats.plan_cached = true;
  const db::Notice notices[] = {{"01000", std::string(300, 'w'), "h"}};
  Buffer out;
  WriteTrailer(3,
               {.rows_affected = 5,
                .stats = &stats,
                .total_us = 9,
                .queue_us = 1,
                .transaction = &state,
                .warnings = notices,
                .command = "INSERT"},
               out);
  v1::ExecuteResponse response;
  ASSERT_TRUE(response.ParseFromArray(out.data(), static_cast<int>(out.size())));
  const v1::ResultTrailer& trailer = response.trailer();
  EXPECT_EQ(trailer.rows_affected(), 5u);
  EXPECT_EQ(trailer.command(), "INSERT");
  EXPECT_EQ(trailer.stats().rows_read(), 300u);
  EXPECT_TRUE(trailer.stats().plan_cached());
  EXPECT_EQ(trailer.transaction().phase(), v1::TRANSACTION_PHASE_COMMITTED);
  EXPECT_EQ(trailer.transaction().commit_position(), std::string("\0\0\0\0\0\0\1\2", 8));
  EXPECT_EQ(trailer.transaction().attempts(), 2u);
  EXPECT_EQ(trailer.warnings(0).message().size(), 300u);
}

TEST(TrailerTest, SelectTravelsAsNothing) {
  Buffer out;
  Trailer trailer;
  trailer.command = "SELECT";
  WriteTrailer(3, trailer, out);
  v1::ExecuteResponse response;
  ASSERT_TRUE(response.ParseFromArray(out.data(), static_cast<int>(out.size())));
  EXPECT_TRUE(response.has_trailer());
  EXPECT_EQ(response.trailer().command(), "");
}

}  // namespace
}  // namespace sisal::wire
