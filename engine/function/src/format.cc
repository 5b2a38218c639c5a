// format(), and the functions that quote names and values for SQL.
#include <algorithm>
#include <charconv>
#include <string>

#include "format_value.h"
#include "kernel.h"
#include "registry.h"
#include "utf8.h"

namespace sisal::function {
namespace {

using enum type::TypeId;
using Text = std::string_view;

constexpr size_t kValueBytesMax = (size_t{1} << 30) - 5;

// PostgreSQL's keywords that are not free as names.
constexpr Text kKeywords =
    " all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both case "
    "cast char character check coalesce collate collation column concurrently constraint create cross current_catalog "
    "current_date current_role current_schema current_time current_timestamp current_user dec decimal default "
    "deferrable desc distinct do else end except exists extract false fetch float for foreign freeze from full grant "
    "greatest group grouping having ilike in initially inner inout int integer intersect interval into is isnull join "
    "lateral leading least left like limit localtime localtimestamp national natural nchar none normalize not notnull "
    "null nullif numeric offset on only or order out outer overlaps overlay placing position precision primary real "
    "references returning right row select session_user setof similar smallint some substring symmetric table "
    "tablesample then time timestamp to trailing treat trim true union unique user using values varchar variadic "
    "verbose when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse "
    "xmlpi xmlroot xmlserialize xmltable ";

void AppendIdentifier(Text name, std::string& out) {
  bool plain = !name.empty() && (name[0] < '0' || name[0] > '9');
  for (const char c : name) plain &= (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  if (plain && kKeywords.find(" " + std::string(name) + " ") == Text::npos) {
    out.append(name);
    return;
  }
  out.push_back('"');
  for (const char c : name) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

void AppendLiteral(Text text, std::string& out) {
  out.append(text.find('\\') == Text::npos ? "'" : "E'");
  for (const char c : text) {
    if (c == '\'' || c == '\\') out.push_back(c);
    out.push_back(c);
  }
  out.push_back('\'');
}

Text QuoteIdentifier(Env& env, Text name) {
  std::string quoted;
  AppendIdentifier(name, quoted);
  return env.Copy(quoted);
}

// quote_literal() and quote_nullable() of anything. Only the latter sees NULL.
Status QuoteKernel(const Call& call, type::Vector& out) {
  std::string text, quoted;
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    if (call.args[0].IsNull(row)) {
      out.bytes[row] = "NULL";
      continue;
    }
    text.clear();
    quoted.clear();
    AppendAsText(call.args[0], row, call.context.text, text);
    AppendLiteral(text, quoted);
    out.bytes[row] = call.arena.Copy(quoted);
  }
  return Status();
}

// One row of format(): the first argument with its %s, %I and %L replaced.
class Formatter {
 public:
  Formatter(const Call& call, uint32_t row) : call_(call), row_(row), rest_(call.args[0].Bytes(row)) {}
  Result<std::string> Run();

 private:
  // %[position$][-][width]type; width may be *, or *position$.
  struct Specifier {
    int64_t position = 0;  // 0: the next argument
    bool left = false;
    bool has_width = false;
    int64_t width = 0;
    char kind = 0;
  };
  Status Unterminated() const {
    return Error("22023", "unterminated format() type specifier").WithHint("For a single \"%\" use \"%%\".");
  }
  // Digits, if there are any. Errors: 22003.
  Result<bool> TakeNumber(int64_t& number);
  Status TakeSpecifier(Specifier& specifier);
  Status TakeWidth(Specifier& specifier);
  // The argument that a position, or 0 for the next one, means.
  Result<const type::Vector*> Argument(int64_t position);
  Status AppendValue(const Specifier& specifier);

  const Call& call_;
  const uint32_t row_;
  Text rest_;
  size_t next_ = 1;
  std::string out_;
};

Result<bool> Formatter::TakeNumber(int64_t& number) {
  int32_t value = 0;
  if (rest_.empty() || rest_[0] < '0' || rest_[0] > '9') return false;
  const std::from_chars_result end = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (end.ec == std::errc::result_out_of_range) return Error("22003", "number is out of range");
  rest_.remove_prefix(static_cast<size_t>(end.ptr - rest_.data()));
  number = value;
  if (rest_.empty()) return Unterminated().error();
  return true;
}

Result<const type::Vector*> Formatter::Argument(int64_t position) {
  if (position > 0) next_ = static_cast<size_t>(position);
  if (next_ >= call_.args.size()) return Error("22023", "too few arguments for format()");
  return &call_.args[next_++];
}

Status Formatter::TakeWidth(Specifier& specifier) {
  rest_.remove_prefix(1);  // the asterisk
  if (rest_.empty()) return Unterminated();
  int64_t position = 0;
  SISAL_ASSIGN_OR_RETURN(const bool positioned, TakeNumber(position));
  if (positioned) {
    if (rest_[0] != '$') return Error("22023", "width argument position must be ended by \"$\"");
    if (position == 0) return Error("22023", "format specifies argument 0, but arguments are numbered from 1");
    rest_.remove_prefix(1);
    if (rest_.empty()) return Unterminated();
  }
  SISAL_ASSIGN_OR_RETURN(const type::Vector* argument, Argument(position));
  specifier.has_width = true;
  if (argument->IsNull(row_)) return Status();
  if (argument->type.id == kSmallint || argument->type.id == kInteger) {
    specifier.width = argument->Int(row_);
    return Status();
  }
  std::string text;
  AppendOutput(*argument, row_, call_.context.text, text);
  SISAL_ASSIGN_OR_RETURN(const type::Datum width, type::ParseText(kInteger, text, call_.context.text));
  specifier.width = width.as_int();
  return Status();
}

Status Formatter::TakeSpecifier(Specifier& specifier) {
  if (rest_.empty()) return Unterminated();
  int64_t number = 0;
  SISAL_ASSIGN_OR_RETURN(const bool numbered, TakeNumber(number));
  if (numbered && rest_[0] == '$') {
    if (number == 0) return Error("22023", "format specifies argument 0, but arguments are numbered from 1");
    specifier.position = number;
    rest_.remove_prefix(1);
    if (rest_.empty()) return Unterminated();
  } else if (numbered) {
    specifier.has_width = true;
    specifier.width = number;
  }
  if (!specifier.has_width) {
    while (rest_[0] == '-') {
      specifier.left = true;
      rest_.remove_prefix(1);
      if (rest_.empty()) return Unterminated();
    }
    if (rest_[0] == '*') {
      SISAL_RETURN_IF_ERROR(TakeWidth(specifier));
    } else {
      SISAL_ASSIGN_OR_RETURN(specifier.has_width, TakeNumber(specifier.width));
    }
  }
  const Text kind = TakeCharacter(rest_);
  if (kind != "s" && kind != "I" && kind != "L") {
    return Error("22023", "unrecognized format() type specifier \"" + std::string(kind) + "\"")
        .WithHint("For a single \"%\" use \"%%\".");
  }
  specifier.kind = kind[0];
  return Status();
}

Status Formatter::AppendValue(const Specifier& specifier) {
  SISAL_ASSIGN_OR_RETURN(const type::Vector* argument, Argument(specifier.position));
  std::string text, shown;
  const bool null = argument->IsNull(row_);
  if (!null) AppendOutput(*argument, row_, call_.context.text, text);
  if (specifier.kind == 's') {
    shown = std::move(text);
  } else if (specifier.kind == 'I') {
    if (null) return Error("22004", "null values cannot be formatted as an SQL identifier");
    AppendIdentifier(text, shown);
  } else if (null) {
    shown = "NULL";
  } else {
    AppendLiteral(text, shown);
  }
  const bool left = specifier.left || specifier.width < 0;
  const auto width = static_cast<size_t>(std::abs(specifier.width));
  const size_t present = CharacterCount(shown);
  const size_t padding = width > present ? width - present : 0;
  if (out_.size() + shown.size() + padding > kValueBytesMax) return Error("54000", "requested length too large");
  if (!left) out_.append(padding, ' ');
  out_.append(shown);
  if (left) out_.append(padding, ' ');
  return Status();
}

Result<std::string> Formatter::Run() {
  while (!rest_.empty()) {
    const size_t plain = std::min(rest_.find('%'), rest_.size());
    out_.append(rest_.substr(0, plain));
    rest_.remove_prefix(plain);
    if (rest_.empty()) break;
    rest_.remove_prefix(1);
    if (!rest_.empty() && rest_[0] == '%') {
      out_.push_back('%');
      rest_.remove_prefix(1);
      continue;
    }
    Specifier specifier;
    SISAL_RETURN_IF_ERROR(TakeSpecifier(specifier));
    SISAL_RETURN_IF_ERROR(AppendValue(specifier));
  }
  return std::move(out_);
}

Status FormatKernel(const Call& call, type::Vector& out) {
  type::EnsureNulls(out, call.capacity, call.arena);
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    if (call.args[0].IsNull(row)) {
      out.SetNull(row);
      continue;
    }
    SISAL_ASSIGN_OR_RETURN(const std::string text, Formatter(call, row).Run());
    out.bytes[row] = call.arena.Copy(text);
  }
  return Status();
}

}  // namespace

void RegisterFormatFunctions(Registry& registry) {
  registry.Scalar("quote_ident", {kText}, kText, Map<[](Env& env, Text name) { return QuoteIdentifier(env, name); }>);
  for (const Text name : {"quote_literal", "quote_nullable"}) {
    Function& entry = registry.Scalar(name, {kUnknown}, kText, QuoteKernel);
    entry.any_argument = true;
    entry.strict = name == "quote_literal";
    entry.volatility = Volatility::kStable;  // timestamptz shows the session's time zone
  }
  for (const bool variadic : {false, true}) {
    Function& entry = registry.Scalar("format", variadic ? Registry::Types{kText, kText} : Registry::Types{kText},
                                      kText, FormatKernel);
    entry.strict = false;
    entry.variadic = variadic;
    entry.any_argument = variadic;
    entry.volatility = Volatility::kStable;
  }
}

}  // namespace sisal::function
