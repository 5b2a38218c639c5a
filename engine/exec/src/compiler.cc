// Expression trees to steps. The walk keeps its own stack: what a client nests costs heap, not a fiber's stack.
#include <algorithm>

#include "operator.h"
#include "program.h"
#include "sisal/type/row_codec.h"
#include "step.h"

namespace sisal::exec {

using sql::Expr;
using sql::ExprKind;

class Compiler {
 public:
  Compiler(Program& program, Frame& frame) : program_(program), frame_(frame) { NewSelection(); }

  // Appends the steps of `expression` and returns the register of its value.
  uint32_t CompileRoot(const Expr* expression) {
    const uint32_t result = Visit(expression, 0);
    for (Pending& visit : plan_) pending_.push_back(std::move(visit));
    plan_.clear();
    while (!pending_.empty()) {
      Pending next = std::move(pending_.back());
      pending_.pop_back();
      if (next.expression != nullptr) {
        Expand(*next.expression, next.rows, next.out);
      } else {
        program_.steps_.push_back(std::move(next.step));
      }
    }
    return result;
  }

 private:
  using Op = Program::Op;
  using Step = Program::Step;

  // Either an expression to expand into register `out`, or a finished step; worked off in the order of execution.
  struct Pending {
    const Expr* expression = nullptr;
    uint32_t rows = 0;
    uint32_t out = 0;
    Step step;
  };

  uint32_t NewRegister() {
    program_.registers_.emplace_back();
    return static_cast<uint32_t>(program_.registers_.size() - 1);
  }
  uint32_t NewSelection() {
    program_.selections_.emplace_back();
    return static_cast<uint32_t>(program_.selections_.size() - 1);
  }

  // The register that will hold `expression`: a leaf's own, or a new one that a pending visit fills.
  uint32_t Visit(const Expr* expression, uint32_t rows) {
    const uint32_t reg = NewRegister();
    switch (expression->kind) {
      case ExprKind::kColumn:
      case ExprKind::kOuter:
        program_.leaves_.push_back({expression->kind, expression->index, reg});
        break;
      case ExprKind::kConstant:
        program_.registers_[reg] = type::MakeConstant(expression->type, expression->constant, frame_.state.constants);
        break;
      case ExprKind::kParameter:
        program_.registers_[reg] = frame_.state.params[expression->index];
        break;
      default:
        plan_.push_back({expression, rows, reg, {}});
    }
    return reg;
  }
  void Emit(Step step) { plan_.push_back({nullptr, 0, 0, std::move(step)}); }

  // Appends to plan_, in order of execution, what computes `e` at the rows of selection `rows` into register `out`;
  // then moves plan_ to the top of the stack.
  void Expand(const Expr& e, uint32_t rows, uint32_t out) {
    Step step{
        .op = Op::kCall, .flag = e.flag, .out = out, .rows = rows, .type = e.type, .expr = &e, .args = {}, .set = {}};
    switch (e.kind) {
      case ExprKind::kAnd:
      case ExprKind::kOr:
        ExpandLogic(e, rows, out);
        break;
      case ExprKind::kCase:
        ExpandCase(e, rows, out);
        break;
      case ExprKind::kCoalesce:
        ExpandCoalesce(e, rows, out);
        break;
      case ExprKind::kInList:
        ExpandInList(e, std::move(step));
        break;
      case ExprKind::kScalarSubquery:
      case ExprKind::kExists:
      case ExprKind::kInSubquery:
        step.op = Op::kSubquery;
        for (const Expr* arg : e.args) step.args.push_back(Visit(arg, rows));
        for (const Expr* arg : e.outer_args) step.args.push_back(Visit(arg, rows));
        step.subplan = static_cast<uint32_t>(program_.subplans_.size());
        program_.subplans_.push_back(std::make_unique<Subplan>(*e.subplan, frame_));
        Emit(std::move(step));
        break;
      default:
        step.op = PlainOp(e.kind);
        if (e.kind == ExprKind::kBooleanTest) {
          step.wanted = e.constant.is_null() ? 2 : static_cast<uint32_t>(e.constant.as_int());
        }
        for (const Expr* arg : e.args) step.args.push_back(Visit(arg, rows));
        Emit(std::move(step));
    }
    for (auto it = plan_.rbegin(); it != plan_.rend(); ++it) pending_.push_back(std::move(*it));
    plan_.clear();
  }

  static Op PlainOp(ExprKind kind) {
    switch (kind) {
      case ExprKind::kCall:
        return Op::kCall;
      case ExprKind::kCast:
        return Op::kCast;
      case ExprKind::kModifiers:
        return Op::kModifiers;
      case ExprKind::kNot:
        return Op::kNot;
      case ExprKind::kIsNull:
        return Op::kIsNull;
      case ExprKind::kBooleanTest:
        return Op::kBooleanTest;
      case ExprKind::kIsDistinct:
        return Op::kIsDistinct;
      case ExprKind::kNullIf:
        return Op::kNullIf;
      case ExprKind::kGreatest:
        return Op::kGreatest;
      case ExprKind::kLeast:
        return Op::kLeast;
      default:
        break;
    }
    SISAL_CHECK(false);
    return Op::kCall;
  }

  void ExpandLogic(const Expr& e, uint32_t rows, uint32_t out) {
    const bool is_and = e.kind == ExprKind::kAnd;
    Emit({.op = Op::kBegin,
          .flag = is_and,
          .out = out,
          .rows = rows,
          .wanted = 1,
          .type = e.type,
          .args = {},
          .set = {}});
    for (const Expr* arg : e.args) {
      const uint32_t reg = Visit(arg, rows);
      const uint32_t undecided = NewSelection();
      Emit({.op = Op::kLogic,
            .flag = is_and,
            .out = out,
            .rows = rows,
            .narrowed = undecided,
            .type = e.type,
            .args = {reg},
            .set = {}});
      rows = undecided;
    }
  }

  void ExpandCase(const Expr& e, uint32_t rows, uint32_t out) {
    Emit({.op = Op::kBegin, .out = out, .rows = rows, .type = e.type, .args = {}, .set = {}});
    const size_t branches = e.args.size() / 2;
    for (size_t i = 0; i < branches; ++i) {
      const uint32_t condition = Visit(e.args[2 * i], rows);
      const uint32_t taken = NewSelection();
      const uint32_t rest = NewSelection();
      Emit({.op = Op::kBranch,
            .rows = rows,
            .narrowed = taken,
            .rest = rest,
            .type = e.type,
            .args = {condition},
            .set = {}});
      const uint32_t value = Visit(e.args[2 * i + 1], taken);
      Emit({.op = Op::kCopy, .out = out, .rows = taken, .type = e.type, .args = {value}, .set = {}});
      rows = rest;
    }
    if (e.flag) {
      const uint32_t value = Visit(e.args.back(), rows);
      Emit({.op = Op::kCopy, .out = out, .rows = rows, .type = e.type, .args = {value}, .set = {}});
    }
  }

  void ExpandCoalesce(const Expr& e, uint32_t rows, uint32_t out) {
    Emit({.op = Op::kBegin, .out = out, .rows = rows, .type = e.type, .args = {}, .set = {}});
    for (const Expr* arg : e.args) {
      const uint32_t value = Visit(arg, rows);
      const uint32_t missing = NewSelection();
      Emit({.op = Op::kCoalesce,
            .out = out,
            .rows = rows,
            .narrowed = missing,
            .type = e.type,
            .args = {value},
            .set = {}});
      rows = missing;
    }
  }

  // Many constants become a hash set of keys: equal values have equal keys.
  void ExpandInList(const Expr& e, Step step) {
    const bool constants = std::all_of(e.args.begin() + 1, e.args.end(), [&](const Expr* arg) {
      return arg->kind == ExprKind::kConstant && arg->type.id == e.args[0]->type.id;
    });
    step.op = Op::kInList;
    if (constants && e.args.size() > 8) {
      step.op = Op::kInSet;
      step.args.push_back(Visit(e.args[0], step.rows));
      for (size_t i = 1; i < e.args.size(); ++i) {
        if (e.args[i]->constant.is_null()) {
          step.set_has_null = true;
          continue;
        }
        std::string key;
        type::AppendKey(e.args[i]->type, e.args[i]->constant, type::SortOrder::kAscending, false, key);
        step.set.insert(std::move(key));
      }
    } else {
      for (const Expr* arg : e.args) step.args.push_back(Visit(arg, step.rows));
    }
    Emit(std::move(step));
  }

  Program& program_;
  Frame& frame_;
  std::vector<Pending> plan_;     // of the expression that is being expanded
  std::vector<Pending> pending_;  // a stack
};

Program Program::Compile(std::span<const Expr* const> expressions, Frame& frame) {
  Program program;
  program.frame_ = &frame;
  Compiler compiler(program, frame);
  for (const Expr* expression : expressions) program.results_.push_back(compiler.CompileRoot(expression));
  return program;
}

}  // namespace sisal::exec
