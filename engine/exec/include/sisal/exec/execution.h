// Runs plans: a pull of chunks through operators over vectors.
//
// Confined: one fiber at a time. Memory: within ExecutionOptions::memory_bytes_max, else 53200.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sisal/base/status.h"
#include "sisal/catalog/catalog.h"
#include "sisal/function/function.h"
#include "sisal/sql/statement.h"
#include "sisal/txn/store.h"
#include "sisal/type/vector.h"

namespace sisal::exec {

class PointRead;

struct ExecutionOptions {
  txn::Store* store = nullptr;
  txn::Transaction* transaction = nullptr;  // has a snapshot, except before a first intent (see Start)
  catalog::Catalog* catalog = nullptr;
  catalog::RootPtr root;
  std::vector<type::Datum> params;  // converted to Statement::params' types
  function::Context function;
  io::CancelToken* cancel = nullptr;
  Instant deadline = Instant::Max();      // on the runtime's clock: 57014 after it
  const PointRead* point_read = nullptr;  // the statement's, if it is one; outlives the execution
  uint64_t memory_bytes_max = 256 << 20;  // of this statement's sorts, groups and hash tables
};

class Execution {
 public:
  // Requires: a statement with a plan. A write by a full primary key takes its intent first and its snapshot after it,
  // if the transaction has none yet; every other plan takes the snapshot at once. Suspends.
  static Result<std::unique_ptr<Execution>> Start(sql::StatementPtr statement, ExecutionOptions options);
  virtual ~Execution() = default;

  // Points `chunk` at up to kVectorSize further rows, valid until the next call; row_count 0: the end. A statement
  // that writes has done all its work before it gives its first RETURNING row or its end. Suspends.
  virtual Status Next(type::Chunk& chunk) = 0;
  virtual uint64_t rows_affected() const = 0;
  virtual uint64_t rows_read() const = 0;
};

// Builds the entries of a new index, one of table.indexes, from all rows that the transaction sees. Errors: 23505 if a
// unique key is there twice. Suspends.
Status BuildIndex(const ExecutionOptions& options, const catalog::Table& table, const catalog::Index& index);

}  // namespace sisal::exec
