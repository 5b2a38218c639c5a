// The way in: text to Statement.
#include <memory>

#include "big_stack.h"
#include "binder.h"
#include "parse.h"

namespace sisal::sql {
namespace {

// A statement that nests deeper than this leaves more of the big stack committed than is worth keeping.
constexpr uint32_t kTrimAbove = 100;

Status AnalyzeHere(const std::string& text, const AnalyzeContext& context, Statement& statement) {
  SISAL_ASSIGN_OR_RETURN(const ParseTree tree, ParseText(text));
  if (tree->n_stmts == 0) {
    statement.depends_on_catalog = false;
    return Status();
  }
  if (tree->n_stmts > 1) return Error("42601", "cannot insert multiple commands into a prepared statement");
  const TextPositions positions(text);
  Binder binder(context, positions, text, statement);
  return binder.BindStatement(*tree->stmts[0]->stmt);
}

}  // namespace

Result<StatementPtr> Analyze(std::string_view sql, const AnalyzeContext& context) {
  SISAL_RETURN_IF_ERROR(CheckLength(sql));  // before anything is copied
  const std::string text(sql);              // ends in a zero byte for the parser
  auto statement = std::make_shared<Statement>();
  uint32_t depth = 0;
  SISAL_RETURN_IF_ERROR(CheckText(text, depth));
  const Status analyzed = RunOnBigStack([&] { return AnalyzeHere(text, context, *statement); });
  if (depth > kTrimAbove) TrimBigStack();
  if (!analyzed.ok()) return Error(analyzed.error());
  return StatementPtr(std::move(statement));
}

}  // namespace sisal::sql
