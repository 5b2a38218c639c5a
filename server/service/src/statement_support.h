// What Execute, Query and ExecuteBatch do alike with a Statement.
#pragma once

#include "sisal/db/database.h"
#include "sisal/service/call.h"

namespace sisal::v1 {
class Statement;
}

namespace sisal::service {

inline constexpr size_t kAnswerBytesMax = 1 << 20;

// Fields of ExecuteResponse; QueryResponse has the first three.
inline constexpr uint32_t kHeader = 1, kChunk = 2, kTrailer = 3, kMore = 4;

// By its text or its id. Suspends. Errors: 08P01 neither, 22021, 26000, the engine's.
Result<db::PreparedPtr> PrepareStatement(const v1::Statement& statement, db::Session& session,
                                         const CallContext& context);
// The id of the statement that is asked for, by whichever way.
db::StatementId RequestedId(const v1::Statement& statement);
// Runs a statement without parameters and rows, whether or not the call has been cancelled. Suspends.
Status RunControl(const std::string& sql, db::Session& session);
bool IsTransactionControl(sql::StatementKind kind);
// SET SESSION, RESET: 0A000.
Status CheckNoSessionSetting(const sql::Statement& statement);

}  // namespace sisal::service
