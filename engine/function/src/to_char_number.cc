#include "to_char_number.h"

#include "utf8.h"

namespace sisal::function {
namespace {

char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool StartsWith(std::string_view text, std::string_view name, bool& lower) {
  lower = false;
  if (text.starts_with(name)) return true;
  if (text.size() < name.size()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    if (text[i] != LowerAscii(name[i])) return false;
  }
  return lower = true;
}

// Longer names before their beginnings.
constexpr std::string_view kNames[] = {",", ".",  "0",  "9",  "B",  "C",  "D",  "EEEE", "FM", "G",
                                       "L", "MI", "PL", "PR", "RN", "SG", "SP", "S",    "TH", "V"};

Error Conflict(std::string message) { return Error("42601", std::move(message)); }

}  // namespace

Status NumberFormat::AddDigit(bool zero) {
  if (brackets_) return Conflict(std::string("\"") + (zero ? "0" : "9") + "\" must be ahead of \"PR\"");
  items_.push_back({zero ? Kind::kZero : Kind::kNine, false, {}});
  if (!zero && shifting_) {
    ++shift_;
    return Status();
  }
  if (zero && !zero_ && !point_) {
    zero_ = true;
    zero_begin_ = whole_digits_;
  }
  ++(point_ ? fraction_digits_ : whole_digits_);
  if (zero) zero_end_ = whole_digits_ + fraction_digits_;
  return Status();
}

Status NumberFormat::AddLockedSign() {
  if (locked_sign_ != LockedSign::kNone) return Conflict("cannot use \"S\" twice");
  if (plus_ || minus_ || brackets_) {
    return Conflict("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together");
  }
  locked_sign_ = point_ ? LockedSign::kAfter : LockedSign::kBefore;
  sign_place_ = whole_digits_;
  return Status();
}

Status NumberFormat::Add(std::string_view name, bool lower) {
  const bool sign_is_locked = locked_sign_ != LockedSign::kNone;
  if (name == "9" || name == "0") return AddDigit(name == "0");
  if (name == "S") return AddLockedSign();
  Item item{Kind::kInvisible, lower, {}};
  if (name == "." || name == "D") {
    if (point_) return Conflict("multiple decimal points");
    if (shifting_) return Conflict("cannot use \"V\" and decimal point together");
    point_ = true;
    item.kind = Kind::kPoint;
  } else if (name == "," || name == "G") {
    item.kind = Kind::kComma;
  } else if (name == "L") {
    item.kind = Kind::kCurrency;
  } else if (name == "FM") {
    fill_mode_ = true;
  } else if (name == "V") {
    if (point_) return Conflict("cannot use \"V\" and decimal point together");
    shifting_ = true;
  } else if (name == "RN") {
    roman_ = true;
    item.kind = Kind::kRoman;
  } else if (name == "TH") {
    item.kind = Kind::kOrdinal;
  } else if (name == "PR") {
    if (sign_is_locked || plus_ || minus_) {
      return Conflict("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together");
    }
    brackets_ = true;
  } else if (name == "MI" || name == "PL" || name == "SG") {
    if (sign_is_locked) return Conflict("cannot use \"S\" and \"" + std::string(name) + "\" together");
    minus_ |= name != "PL";
    plus_ |= name != "MI";
    item.kind = name == "MI" ? Kind::kMinus : name == "PL" ? Kind::kPlus : Kind::kSign;
  } else if (name == "EEEE") {
    return Error("0A000", "format \"EEEE\" is not supported");
  }
  items_.push_back(item);
  return Status();
}

// Quoted text, or one character.
void NumberFormat::AppendLiteral(std::string_view& format) {
  if (format[0] != '"') {
    if (format.starts_with("\\\"")) format.remove_prefix(1);
    items_.push_back({Kind::kLiteral, false, TakeCharacter(format)});
    return;
  }
  format.remove_prefix(1);
  while (!format.empty() && format[0] != '"') {
    if (format[0] == '\\' && format.size() > 1) format.remove_prefix(1);
    items_.push_back({Kind::kLiteral, false, TakeCharacter(format)});
  }
  if (!format.empty()) format.remove_prefix(1);
}

Result<NumberFormat> NumberFormat::Parse(std::string_view format) {
  NumberFormat parsed;
  while (!format.empty()) {
    std::string_view found;
    bool lower = false;
    for (const std::string_view name : kNames) {
      if (!StartsWith(format, name, lower)) continue;
      found = name;
      break;
    }
    if (found.empty()) {
      parsed.AppendLiteral(format);
      continue;
    }
    SISAL_RETURN_IF_ERROR(parsed.Add(found, lower));
    format.remove_prefix(found.size());
  }
  parsed.whole_digits_ += parsed.shift_;
  return parsed;
}

// Writes one number. A *place* is a digit or the point of the format; places count from 0.
class NumberFormat::Writer {
 public:
  Writer(const NumberFormat& format, bool negative, std::string_view number, int32_t fraction_digits, std::string& out)
      : format_(format), negative_(negative), number_(number), fraction_digits_(fraction_digits), out_(out) {
    const auto whole = static_cast<int32_t>(std::min(number.find('.'), number.size()));
    if (whole < format.whole_digits_) {
      blank_places_ = format.whole_digits_ - whole;
    } else if (whole > format.whole_digits_) {
      // It does not fit.
      number_.assign(static_cast<size_t>(format.whole_digits_ + fraction_digits + 1), '#');
      number_[static_cast<size_t>(format.whole_digits_)] = '.';
    }
    if (format.fill_mode_ && format.point_) FindLastShown();
    brackets_ = format.brackets_ && (negative || !format.fill_mode_);
    locked_sign_ = format.locked_sign_;
    if (format.plus_ || format.minus_) {
      sign_due_ = !format.minus_;
    } else {
      sign_due_ = negative || !format.fill_mode_ || locked_sign_ != LockedSign::kNone;
      if (locked_sign_ == LockedSign::kBefore && format.sign_place_ == format.whole_digits_) {
        locked_sign_ = LockedSign::kAfter;
      }
    }
    last_place_ = format.whole_digits_ + fraction_digits + (format.point_ ? 1 : 0) - 1;
  }

  Status Run() {
    for (const Item& item : format_.items_) {
      if (item.kind == Kind::kOrdinal) {
        SISAL_RETURN_IF_ERROR(WriteOrdinal(item.lower));
      } else if (!Write(item)) {
        break;
      }
    }
    return Status();
  }

 private:
  // Under FM, zeros at the end of the fraction are dropped, but not where the format has a '0'.
  void FindLastShown() {
    const size_t point = number_.find('.');
    if (point == std::string::npos) return;
    last_shown_ = number_.find_last_not_of('0');
    if (last_shown_ == std::string::npos || last_shown_ < point) last_shown_ = point;
    if (format_.zero_end_ > blank_places_) {
      const auto kept = static_cast<size_t>(format_.zero_end_ - blank_places_);
      last_shown_ = std::max(last_shown_, std::min(number_.size() - 1, kept));
    }
  }
  bool IsDropped(bool zero) const { return last_shown_ != std::string::npos && at_ > last_shown_ && !zero; }
  bool DropsFraction() const { return last_shown_ != std::string::npos && number_[last_shown_] == '.'; }
  // A zero before the point that the format does not ask for.
  bool AtIdleZero() const { return !format_.zero_ && at_ == 0 && number_[0] == '0' && fraction_digits_ != 0; }
  bool fill() const { return !format_.fill_mode_; }

  // False: the output ends here.
  bool Write(const Item& item) {
    switch (item.kind) {
      case Kind::kNine:
      case Kind::kZero:
      case Kind::kPoint:
        return WritePlace(item.kind == Kind::kZero);
      case Kind::kComma:
        if (in_number_) {
          out_ += ',';
        } else if (fill()) {
          out_ += ' ';
        }
        break;
      case Kind::kCurrency:
        out_ += ' ';
        break;
      case Kind::kMinus:
        if (negative_ || fill()) out_ += negative_ ? '-' : ' ';
        break;
      case Kind::kPlus:
        if (!negative_ || fill()) out_ += negative_ ? ' ' : '+';
        break;
      case Kind::kSign:
        out_ += negative_ ? '-' : '+';
        break;
      case Kind::kLiteral:
        out_ += item.literal;
        break;
      case Kind::kOrdinal:
      case Kind::kRoman:
      case Kind::kInvisible:
        break;
    }
    return true;
  }

  Status WriteOrdinal(bool lower) {
    if (number_[0] == '#' || negative_ || format_.point_) return Status();
    const char last = number_.back();
    if (last < '0' || last > '9') return Error("22P02", "\"" + number_ + "\" is not a number");
    const bool teen = number_.size() > 1 && number_[number_.size() - 2] == '1';
    const size_t which = teen || last < '1' || last > '3' ? 0 : static_cast<size_t>(last - '0');
    static constexpr std::string_view kSuffixes[] = {"th", "st", "nd", "rd"};
    for (const char c : kSuffixes[which]) out_ += lower ? c : static_cast<char>(c - 32);
    return Status();
  }

  void WriteSign() {
    if (locked_sign_ == LockedSign::kAfter) return;
    if (locked_sign_ == LockedSign::kBefore) {
      out_ += negative_ ? '-' : '+';
    } else if (brackets_) {
      out_ += negative_ ? '<' : ' ';
    } else if (negative_) {
      out_ += '-';
    } else if (fill()) {
      out_ += ' ';
    }
    sign_due_ = false;
  }

  bool WritePlace(bool zero) {
    in_number_ = false;
    const bool padded_with_zeros = format_.zero_ && format_.zero_begin_ <= place_;
    const bool number_begins = place_ >= blank_places_ || (format_.zero_ && format_.zero_begin_ == place_);
    if (sign_due_ && number_begins && (!AtIdleZero() || DropsFraction())) WriteSign();
    if (place_ < blank_places_) {
      if (padded_with_zeros) {
        out_ += '0';
        in_number_ = true;
      } else if (fill()) {
        out_ += ' ';
      }
    } else if (at_ < number_.size()) {
      WriteCharacter(zero);
      ++at_;
    } else if (!IsDropped(zero)) {
      return false;
    }
    if (place_ == last_place_) WriteEnd();
    ++place_;
    return true;
  }

  void WriteCharacter(bool zero) {
    if (number_[at_] == '.') {
      if (!DropsFraction() || format_.fill_mode_) out_ += '.';
      return;
    }
    if (IsDropped(zero)) return;
    if (!AtIdleZero()) {
      out_ += number_[at_];
      in_number_ = true;
    } else if (fill()) {
      out_ += ' ';
    } else if (DropsFraction()) {
      out_ += '0';
    }
  }

  void WriteEnd() {
    if (!sign_due_ && brackets_) {
      out_ += negative_ ? '>' : ' ';
    } else if (locked_sign_ == LockedSign::kAfter) {
      out_ += negative_ ? '-' : '+';
    }
  }

  const NumberFormat& format_;
  const bool negative_;
  std::string number_;
  const int32_t fraction_digits_;
  std::string& out_;
  bool brackets_ = false;
  LockedSign locked_sign_ = LockedSign::kNone;
  bool sign_due_ = false;
  bool in_number_ = false;    // the last place showed a digit: commas show
  int32_t blank_places_ = 0;  // places before the number's first digit
  int32_t last_place_ = 0;
  int32_t place_ = 0;
  size_t at_ = 0;                          // in number_
  size_t last_shown_ = std::string::npos;  // npos: all
};

Status NumberFormat::Append(bool negative, std::string_view number, int32_t fraction_digits, std::string& out) const {
  return Writer(*this, negative, number, fraction_digits, out).Run();
}

void NumberFormat::AppendRoman(int64_t value, std::string& out) const {
  static constexpr struct {
    int64_t value;
    std::string_view text;
  } kRomans[] = {{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"},
                 {40, "XL"},  {10, "X"},   {9, "IX"},  {5, "V"},    {4, "IV"},  {1, "I"}};
  std::string text;
  if (value < 1 || value > 3999) {
    text.assign(15, '#');
  } else {
    for (const auto& roman : kRomans) {
      for (; value >= roman.value; value -= roman.value) text += roman.text;
    }
  }
  for (const Item& item : items_) {
    if (item.kind == Kind::kLiteral) out += item.literal;
    if (item.kind != Kind::kRoman) continue;
    if (!fill_mode_ && text.size() < 15) out.append(15 - text.size(), ' ');
    for (const char c : text) out += item.lower ? LowerAscii(c) : c;
  }
}

}  // namespace sisal::function
