// Runs the cases of *_cases.txt: one function call a line, with the answer of PostgreSQL 15 (see fill_cases.py).
//
//   fn lower | text:ABC => abc
//   op + | integer:2147483647 | integer:1 => ERROR 22003 integer out of range
//   cast numeric(4,2) | text:12.345 => 12.35
//   agg sum integer | 1 | 2 | NULL => 3
//
// NULL is the null value. \n \t \\ \s (blank) \p (bar) are escapes. "(ours)" at the end: PostgreSQL's answer differs.
// Each scalar case runs on constants and on some rows of vectors; the other rows must stay as they are.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "format_value.h"
#include "sisal/function/function.h"
#include "sisal/testing/status_matchers.h"

namespace sisal::function {
namespace {

using type::Datum;
using type::SqlType;
using type::Vector;

std::vector<std::string> Split(const std::string& line, const std::string& separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t at = line.find(separator); at != std::string::npos; at = line.find(separator, begin)) {
    parts.push_back(line.substr(begin, at - begin));
    begin = at + separator.size();
  }
  parts.push_back(line.substr(begin));
  return parts;
}

std::string Unescape(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    switch (text[++i]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 's':
        out += ' ';
        break;
      case 'p':
        out += '|';
        break;
      default:
        out += '\\';
    }
  }
  return out;
}

// "numeric(10,2)", "varchar(3)", "timestamp".
SqlType ParseType(const std::string& text) {
  const size_t open = text.find('(');
  std::vector<int32_t> modifiers;
  if (open != std::string::npos) {
    for (const std::string& part : Split(text.substr(open + 1, text.find(')') - open - 1), ",")) {
      modifiers.push_back(std::stoi(part));
    }
  }
  std::string name = text.substr(0, open);
  if (name == "double precision") name = "float8";
  const Result<SqlType> found = type::ResolveTypeName(name, modifiers.data(), modifiers.size());
  EXPECT_TRUE(found.ok()) << text;
  return found.ok() ? *found : SqlType();
}

struct Argument {
  SqlType type;
  Datum value;
};

std::string Describe(const Status& status) {
  return "ERROR " + std::string(status.sqlstate()) + " " + status.error().message();
}

class Runner {
 public:
  Runner() {
    context_.clock = &SystemClock();
    context_.random = &random_;
  }

  // The answer of the case in the format of the files.
  std::string Run(const std::string& text) {
    const std::vector<std::string> fields = Split(text, " | ");
    const std::vector<std::string> words = Split(fields[0], " ");
    if (words[0] == "agg") return RunAggregate(words[1], words[2], {fields.begin() + 1, fields.end()});
    std::vector<Argument> args;
    for (size_t i = 1; i < fields.size(); ++i) {
      const size_t colon = fields[i].find(':');
      Argument argument{ParseType(fields[i].substr(0, colon)), Datum()};
      if (const std::string value = fields[i].substr(colon + 1); value != "NULL") {
        Result<Datum> parsed = ParseText(argument.type, Unescape(value), context_.text);
        if (!parsed.ok()) return "argument: " + Describe(parsed.status());
        argument.value = *std::move(parsed);
      }
      args.push_back(std::move(argument));
    }
    if (words[0] == "cast") return RunCast(ParseType(fields[0].substr(5)), args[0]);
    const std::span<const Function* const> candidates =
        words[0] == "op" ? FindOperators(Unescape(words[1])) : FindFunctions(words[1]);
    for (const Function* candidate : candidates) {
      if (!Takes(*candidate, args)) continue;
      return RunKernel(candidate->kernel, candidate->strict, candidate->result, args);
    }
    return "no such function";
  }

 private:
  static bool Takes(const Function& function, const std::vector<Argument>& args) {
    if (function.any_argument) return true;
    if (function.arguments.size() != args.size()) return false;
    for (size_t i = 0; i < args.size(); ++i) {
      if (function.arguments[i] != args[i].type.id) return false;
    }
    return true;
  }

  std::string RunCast(const SqlType& to, Argument argument) {
    std::string answer;
    if (argument.type.id != to.id) {
      const Cast* cast = FindCast(argument.type.id, to.id);
      if (cast == nullptr) return "no such cast";
      if (cast->kernel != nullptr) {
        answer = RunKernel(cast->kernel, true, to.id, {argument});
        if (to == SqlType(to.id) || answer == "NULL" || answer.starts_with("ERROR")) return answer;
        argument = {SqlType(to.id), *ParseText(to.id, answer, context_.text)};
      }
    }
    applied_type_ = to;
    answer =
        RunKernel([](const Call& call, Vector& out) { return ApplyModifiersKernel(call, applied_type_, true, out); },
                  true, to.id, {argument});
    return answer;
  }

  std::string RunKernel(Kernel kernel, bool strict, type::TypeId result, const std::vector<Argument>& args) {
    for (const Argument& argument : args) {
      if (strict && argument.value.is_null()) return "NULL";
    }
    const std::string on_constants = RunOnConstants(kernel, result, args);
    EXPECT_EQ(RunOnRows(kernel, result, args), on_constants);
    return on_constants;
  }

  std::string RunOnConstants(Kernel kernel, type::TypeId result, const std::vector<Argument>& args) {
    std::vector<Vector> vectors;
    for (const Argument& argument : args) vectors.push_back(MakeConstant(argument.type, argument.value, arena_));
    Vector out = type::MakeVector(result, 1, arena_);
    const Status status = kernel(Call{vectors, {nullptr, 1}, 1, arena_, context_}, out);
    return status.ok() ? Format(out, 0) : Describe(status);
  }

  std::string RunOnRows(Kernel kernel, type::TypeId result, const std::vector<Argument>& args) {
    constexpr uint32_t kRows = 100;
    static constexpr uint16_t kSelected[] = {3, 64, 99};
    std::vector<Vector> vectors;
    for (const Argument& argument : args) {
      Vector vector = type::MakeVector(argument.type, kRows, arena_);
      std::memset(vector.ints, 0, kRows * (vector.type.storage() == type::Storage::kBytes ? 16 : 8));
      if (argument.value.is_null()) type::EnsureNulls(vector, kRows, arena_);
      const Vector constant = MakeConstant(argument.type, argument.value, arena_);
      for (const uint32_t row : kSelected) {
        if (argument.value.is_null()) {
          vector.SetNull(row);
        } else {
          Copy(constant, 0, vector, row);
        }
      }
      vectors.push_back(vector);
    }
    Vector out = type::MakeVector(result, kRows, arena_);
    const size_t width = out.type.storage() == type::Storage::kBytes ? 16 : 8;
    std::memset(out.ints, 0x5A, kRows * width);
    const Status status = kernel(Call{vectors, {kSelected, 3}, kRows, arena_, context_}, out);
    if (!status.ok()) return Describe(status);
    for (uint32_t row = 0; row < kRows; ++row) {
      if (row == 3 || row == 64 || row == 99) continue;
      const char* bytes = reinterpret_cast<const char*>(out.ints) + row * width;
      EXPECT_EQ(std::string(bytes, width), std::string(width, 0x5A)) << "row " << row << " was written";
      EXPECT_FALSE(out.IsNull(row));
    }
    EXPECT_EQ(Format(out, 3), Format(out, 99));
    return Format(out, 64);
  }

  std::string RunAggregate(const std::string& name, const std::string& type_name,
                           const std::vector<std::string>& values) {
    const SqlType type = ParseType(type_name);
    Vector column = type::MakeVector(type, static_cast<uint32_t>(values.size()), arena_);
    std::vector<uint16_t> rows;
    for (uint32_t row = 0; row < values.size(); ++row) {
      if (values[row] == "NULL") continue;
      Result<Datum> parsed = ParseText(type, Unescape(values[row]), context_.text);
      if (!parsed.ok()) return "argument: " + Describe(parsed.status());
      Copy(MakeConstant(type, *parsed, arena_), 0, column, row);
      rows.push_back(static_cast<uint16_t>(row));
    }
    for (const Aggregate* aggregate : FindAggregates(name)) {
      if (aggregate->arguments != std::vector{type.id}) continue;
      const std::string whole = RunAggregate(*aggregate, column, rows, false);
      // Sums of floats depend on their order.
      if (aggregate->result != type::TypeId::kReal && aggregate->result != type::TypeId::kDouble) {
        EXPECT_EQ(RunAggregate(*aggregate, column, rows, true), whole) << "in two parts";
      }
      return whole;
    }
    return "no such aggregate";
  }

  // `split`: in two interleaved states, merged in the end.
  std::string RunAggregate(const Aggregate& aggregate, const Vector& column, const std::vector<uint16_t>& rows,
                           bool split) {
    const auto new_state = [&] {
      char* const state = static_cast<char*>(arena_.Allocate(aggregate.state_bytes, 16));
      std::memset(state, 0, aggregate.state_bytes);
      return state;
    };
    char* const state = new_state();
    char* const other = split ? new_state() : state;
    std::vector<char*> states;
    for (size_t i = 0; i < rows.size(); ++i) states.push_back(i % 2 == 0 ? state : other);
    const Vector args[] = {column};
    const type::Selection selection{rows.data(), static_cast<uint32_t>(rows.size())};
    const Call call{args, selection, 2048, arena_, context_};
    if (Status status = aggregate.update(call, states); !status.ok()) return Describe(status);
    if (split) {
      if (Status status = aggregate.merge(other, state, arena_); !status.ok()) return Describe(status);
    }
    Vector out = type::MakeVector(aggregate.result, 8, arena_);
    type::EnsureNulls(out, 8, arena_);
    if (Status status = aggregate.finish(state, 5, out, arena_); !status.ok()) return Describe(status);
    return Format(out, 5);
  }

  static void Copy(const Vector& from, uint32_t at, Vector& to, uint32_t row) {
    switch (to.type.storage()) {
      case type::Storage::kInt:
        to.ints[row] = from.ints[at];
        break;
      case type::Storage::kDouble:
        to.doubles[row] = from.doubles[at];
        break;
      case type::Storage::kBytes:
        to.bytes[row] = from.bytes[at];
        break;
    }
  }

  std::string Format(const Vector& vector, uint32_t row) {
    if (vector.IsNull(row)) return "NULL";
    std::string text;
    AppendOutput(vector, row, context_.text, text);
    return text;
  }

  static inline SqlType applied_type_;
  Arena arena_;
  LazyRandom random_{42};
  Context context_;
};

class KernelCasesTest : public ::testing::TestWithParam<const char*> {};

TEST_P(KernelCasesTest, AnswersAsPostgres) {
  const std::string path = std::string(SISAL_FUNCTION_CASES) + "/" + GetParam() + "_cases.txt";
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path;
  Runner runner;
  std::string line;
  size_t cases = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    if (line.ends_with(" (ours)")) line.resize(line.size() - 7);
    const std::vector<std::string> sides = Split(line, " => ");
    ASSERT_EQ(sides.size(), 2u);
    EXPECT_EQ(runner.Run(sides[0]), Unescape(sides[1]));
    ++cases;
  }
  EXPECT_GT(cases, 0u);
}

INSTANTIATE_TEST_SUITE_P(Files, KernelCasesTest,
                         ::testing::Values("number", "text", "date_time", "cast", "aggregate", "to_char",
                                           "to_char_number", "regex"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace sisal::function
