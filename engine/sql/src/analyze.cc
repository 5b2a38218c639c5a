// The way in: text to Statement.
#include <algorithm>
#include <memory>
#include <unordered_map>

#include "big_stack.h"
#include "binder.h"
#include "parse.h"

namespace sisal::sql {
namespace {

// A statement that nests deeper than this leaves more of the big stack committed than is worth keeping.
constexpr uint32_t kTrimAbove = 100;

// The executor recurses through operators and sub-selects on a fiber's stack of 256 KiB.
constexpr uint32_t kPlanDepthMax = 200;
constexpr uint32_t kSubplanLevels = 5;  // what running a sub-select costs, in operators

class PlanDepth {
 public:
  uint32_t Of(const Plan& plan) {
    const auto known = depths_.find(&plan);
    if (known != depths_.end()) return known->second;
    uint32_t below = 0;
    for (const Plan* input : plan.inputs) below = std::max(below, Of(*input));
    ForEachExpr(plan, [&](const Expr* expr) {
      VisitExpr(expr, [&](const Expr* part) {
        if (part->subplan != nullptr) below = std::max(below, kSubplanLevels + Of(*part->subplan));
      });
    });
    return depths_[&plan] = below + 1;
  }

 private:
  std::unordered_map<const Plan*, uint32_t> depths_;
};

Status CheckPlanDepth(const Plan* plan) {
  if (plan == nullptr || PlanDepth().Of(*plan) <= kPlanDepthMax) return Status();
  return Error("54001", "stack depth limit exceeded")
      .WithHint("The statement's plan nests more than " + std::to_string(kPlanDepthMax) +
                " operators; each sub-select counts as " + std::to_string(kSubplanLevels) + " more.")
      .WithLimit("plan_depth_max", kPlanDepthMax);
}

Status AnalyzeHere(const std::string& text, const AnalyzeContext& context, Statement& statement) {
  SISAL_ASSIGN_OR_RETURN(const ParseTree tree, ParseText(text));
  if (tree->n_stmts == 0) {
    statement.depends_on_catalog = false;
    return Status();
  }
  if (tree->n_stmts > 1) return Error("42601", "cannot insert multiple commands into a prepared statement");
  const TextPositions positions(text);
  Binder binder(context, positions, text, statement);
  SISAL_RETURN_IF_ERROR(binder.BindStatement(*tree->stmts[0]->stmt));
  return CheckPlanDepth(statement.plan);
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

Result<std::vector<DefaultSequence>> SequencesOfDefaults(const catalog::Table& table, const AnalyzeContext& context) {
  std::vector<DefaultSequence> found;
  const Status status = RunOnBigStack([&] {
    for (uint32_t i = 0; i < table.columns.size(); ++i) {
      const std::string& sql = table.columns[i].default_sql;
      if (sql.find('(') == std::string::npos) continue;  // it calls nothing
      Statement statement;
      const TextPositions positions("");
      Binder binder(context, positions, "", statement);
      for (const ObjectId id : binder.SequencesOfDefault(table.columns[i])) found.push_back({i, id});
    }
    return Status();
  });
  if (!status.ok()) return status.error();
  return found;
}

}  // namespace sisal::sql
