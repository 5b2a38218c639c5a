// Windows to plan nodes: one node for each set of partitions and order, and as few sorts as they allow.
#include <algorithm>

#include "binder.h"

namespace sisal::sql {
namespace {

bool SameKey(const SortKey& a, const SortKey& b) {
  return SameExpr(a.expr, b.expr) && a.order == b.order && a.nulls_first == b.nulls_first;
}

// Numbers for sort keys in the order in which the query names them.
class KeyNumbers {
 public:
  void Add(const Expr* expr) {
    if (Of(expr) == known_.size()) known_.push_back(expr);
  }
  size_t Of(const Expr* expr) const {
    const auto found =
        std::find_if(known_.begin(), known_.end(), [&](const Expr* other) { return SameExpr(other, expr); });
    return static_cast<size_t>(found - known_.begin());
  }

 private:
  std::vector<const Expr*> known_;
};

}  // namespace

bool Binder::IsSortedBy(const std::vector<SortKey>& sorted, const std::vector<SortKey>& wanted) {
  return wanted.size() <= sorted.size() && std::equal(wanted.begin(), wanted.end(), sorted.begin(), SameKey);
}

// Windows that share partitions and order share a stage. The stages' order is PostgreSQL's, which our users may have
// come to see in results without ORDER BY: of two keys the one that the query names later sorts first, and what extends
// another's keys comes before it, so that one sort serves both.
std::vector<Binder::WindowStage> Binder::MakeStages(const Scope& scope, const std::vector<Target>& targets,
                                                    const std::vector<OrderKey>& order,
                                                    std::span<const Expr* const> groups) {
  KeyNumbers numbers;
  for (const OrderKey& key : order) numbers.Add(targets[key.target].expr);
  for (const Expr* group : groups) numbers.Add(group);
  for (const bool named : {true, false}) {
    for (const WindowDefinition& window : scope.windows) {
      if (window.name.empty() == named) continue;
      for (const SortKey& key : window.order) numbers.Add(key.expr);
      for (const Expr* expr : window.partition) numbers.Add(expr);
    }
  }
  std::vector<WindowStage> stages;
  for (uint32_t i = 0; i < scope.window_uses.size(); ++i) {
    const WindowDefinition& window = scope.windows[scope.window_uses[i].definition];
    const auto same = [&](const WindowStage& stage) {
      return std::equal(stage.partition.begin(), stage.partition.end(), window.partition.begin(),
                        window.partition.end(), SameExpr) &&
             std::equal(stage.order.begin(), stage.order.end(), window.order.begin(), window.order.end(), SameKey);
    };
    auto stage = std::find_if(stages.begin(), stages.end(), same);
    if (stage == stages.end()) {
      stage = stages.insert(stages.end(), {window.partition, window.order, {}, {}});
      const auto add = [&](const SortKey& key) {
        const bool known = std::any_of(stage->keys.begin(), stage->keys.end(),
                                       [&](const SortKey& other) { return SameExpr(other.expr, key.expr); });
        if (!known) stage->keys.push_back(key);
      };
      for (const Expr* expr : window.partition) {
        // A partition's key that also orders takes that direction.
        const auto ordered = std::find_if(window.order.begin(), window.order.end(),
                                          [&](const SortKey& key) { return SameExpr(key.expr, expr); });
        add(ordered != window.order.end() ? *ordered : SortKey{expr});
      }
      for (const SortKey& key : window.order) add(key);
    }
    stage->uses.push_back(i);
  }
  std::stable_sort(stages.begin(), stages.end(), [&](const WindowStage& a, const WindowStage& b) {
    for (size_t i = 0; i < a.keys.size() && i < b.keys.size(); ++i) {
      const size_t left = numbers.Of(a.keys[i].expr), right = numbers.Of(b.keys[i].expr);
      if (left != right) return left > right;
      if (a.keys[i].order != b.keys[i].order) return a.keys[i].order == type::SortOrder::kDescending;
      if (a.keys[i].nulls_first != b.keys[i].nulls_first) return a.keys[i].nulls_first;
    }
    return a.keys.size() > b.keys.size();
  });
  return stages;
}

std::vector<SortKey> Binder::FirstWindowOrder(const Scope& scope, const std::vector<Target>& targets,
                                              const std::vector<OrderKey>& order) {
  const std::vector<WindowStage> stages = MakeStages(scope, targets, order, {});
  const std::vector<SortKey>& keys = stages[0].keys;
  const bool columns = std::all_of(keys.begin(), keys.end(), [](const SortKey& key) {
    return key.expr->kind == ExprKind::kColumn && key.expr->index < kAggregateBase;
  });
  return columns ? keys : std::vector<SortKey>();
}

Plan* Binder::AddStage(const Scope& scope, Plan* plan, const WindowStage& stage) {
  Plan* window = NewPlan(PlanKind::kWindow);
  window->inputs = {plan};
  window->output = plan->output;
  window->partition = stage.partition;
  window->sort_keys = stage.order;
  for (const uint32_t number : stage.uses) {
    const WindowUse& use = scope.window_uses[number];
    WindowCall& call = window->windows.emplace_back(use.call);
    call.frame = scope.windows[use.definition].frame;
    window->output.push_back(call.result);
  }
  return window;
}

Plan* Binder::PlanWindows(Scope& scope, Plan* plan, std::vector<Target>& targets, const std::vector<OrderKey>& order,
                          uint32_t group_count, std::vector<SortKey>& sorted) {
  // Keys that are not columns are computed once, below all sorts.
  std::vector<const Expr*> columns;
  for (uint32_t i = 0; i < plan->output.size(); ++i) columns.push_back(MakeColumn(i, plan->output[i], -1));
  const auto as_column = [&](const Expr* key) -> const Expr* {
    if (key->kind == ExprKind::kColumn) return key;
    const auto known =
        std::find_if(columns.begin(), columns.end(), [&](const Expr* expr) { return SameExpr(expr, key); });
    const auto place = static_cast<uint32_t>(known - columns.begin());
    if (known == columns.end()) columns.push_back(key);
    return MakeColumn(place, key->type, -1);
  };
  for (WindowDefinition& window : scope.windows) {
    for (const Expr*& expr : window.partition) expr = as_column(expr);
    for (SortKey& key : window.order) key.expr = as_column(key.expr);
  }
  const size_t given = plan->output.size();
  for (Target& target : targets) {
    target.expr = Rewrite(target.expr, [&](const Expr* part) -> const Expr* {
      for (size_t i = given; i < columns.size(); ++i) {
        if (SameExpr(columns[i], part)) return MakeColumn(static_cast<uint32_t>(i), part->type, -1);
      }
      return nullptr;
    });
  }
  plan = AddProject(plan, columns);
  const auto groups = std::span<const Expr* const>(columns).first(group_count);

  std::vector<uint32_t> place(scope.window_uses.size());
  for (const WindowStage& stage : MakeStages(scope, targets, order, groups)) {
    if (!IsSortedBy(sorted, stage.keys)) {
      Plan* sort = NewPlan(PlanKind::kSort);
      sort->inputs = {plan};
      sort->output = plan->output;
      sort->sort_keys = stage.keys;
      plan = sort;
      sorted = stage.keys;
    }
    for (size_t i = 0; i < stage.uses.size(); ++i) {
      place[stage.uses[i]] = static_cast<uint32_t>(plan->output.size() + i);
    }
    plan = AddStage(scope, plan, stage);
  }
  for (Target& target : targets) {
    target.expr = Rewrite(target.expr, [&](const Expr* part) -> const Expr* {
      if (part->kind != ExprKind::kColumn || part->index < kWindowBase) return nullptr;
      Expr& copy = statement_.exprs.emplace_back(*part);
      copy.index = place[part->index - kWindowBase];
      return &copy;
    });
  }
  return plan;
}

}  // namespace sisal::sql
