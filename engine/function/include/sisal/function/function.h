// The functions, operators, casts and aggregates of SQL, one entry each: name, argument types, result and kernel.
// The binder looks entries up and the executor calls their kernels; nothing else knows what a function does.
//
// Immutable after start-up; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/base/arena.h"
#include "sisal/base/clock.h"
#include "sisal/base/random.h"
#include "sisal/base/status.h"
#include "sisal/type/vector.h"

namespace sisal::function {

// The session's way to sequences, by object id.
class Sequences {
 public:
  virtual ~Sequences() = default;
  // By a name as regclass reads it. Errors: 42602, 42P01, 3F000, 42809.
  virtual Result<int64_t> Find(std::string_view name) = 0;
  // Errors: 25006, 42P01 dropped, 2200H, those of a commit that fails before it is logged. Suspend.
  virtual Status Next(int64_t id, std::span<int64_t> values) = 0;
  virtual Status Set(int64_t id, int64_t value, bool called) = 0;  // and 22003
  // The values that this session got last. Errors: 55000.
  virtual Result<int64_t> Current(int64_t id) = 0;
  virtual Result<int64_t> Last() = 0;
  // The quoted name of the sequence that a column owns; empty: it owns none. Errors: those of Find, 42703.
  virtual Result<std::string> OwnedBy(std::string_view table, std::string_view column) = 0;
};

// What a kernel may know of the statement that runs.
struct Context {
  type::TextSettings text;
  int64_t transaction_start_micros = 0;  // now(), current_timestamp
  int64_t statement_start_micros = 0;
  const Clock* clock = nullptr;    // clock_timestamp()
  LazyRandom* random = nullptr;    // random()
  Sequences* sequences = nullptr;  // nextval(); nullptr: where no session runs
  std::string_view user = "sisal", database = "sisal", server_version;
};

// args[i] has the type that the entry declares. Computes out at the rows of `rows` (positions up to kVectorSize); other
// rows stay untouched. Strict entries never see a row in which an argument is NULL: the caller has set those NULL in
// `out`. A kernel that gives NULL calls type::EnsureNulls first; strict ones may do so too (extract() of infinity).
// Bytes in `out` point into the arena or an argument.
// Errors carry PostgreSQL's SQLSTATE and message (22012 division by zero, 22003 integer out of range).
struct Call {
  std::span<const type::Vector> args;
  type::Selection rows;
  uint32_t capacity;  // rows allocated in `out`
  Arena& arena;
  Context& context;
};
using Kernel = Status (*)(const Call& call, type::Vector& out);

enum class Volatility : uint8_t { kImmutable, kStable, kVolatile };

struct Function {
  std::string_view name;  // "lower", "+", "||"; lower case, no schema
  std::vector<type::TypeId> arguments;
  type::TypeId result;
  Kernel kernel;
  bool is_operator = false;   // one argument: prefix operator
  bool strict = true;         // NULL in, NULL out, without a call
  bool variadic = false;      // the last argument repeats, once or more
  bool any_argument = false;  // kUnknown and repeated arguments are taken as they are (concat, num_nulls, ...)
  Volatility volatility = Volatility::kImmutable;
};

// All overloads of a name; empty if there is none.
std::span<const Function* const> FindFunctions(std::string_view name);
std::span<const Function* const> FindOperators(std::string_view name);

enum class CastContext : uint8_t { kImplicit, kAssignment, kExplicit };
struct Cast {
  type::TypeId from, to;
  CastContext context;                             // the weakest context in which it applies
  Kernel kernel;                                   // nullptr: the representation is the same
  Volatility volatility = Volatility::kImmutable;  // kStable: depends on the session (time zone, 'now')
};
// nullptr if there is none. kUnknown -> anything is the binder's business (ParseText at bind time).
const Cast* FindCast(type::TypeId from, type::TypeId to);
// Makes values obey precision, scale and length: type::ApplyModifiers, vectorised.
Status ApplyModifiersKernel(const Call& call, const type::SqlType& to, bool explicit_cast, type::Vector& out);

// Aggregates. A state is `state_bytes` of zeroed memory, aligned to 16, in an arena of the operator's; it may point to
// memory of that arena, and needs no destructor.
struct Aggregate {
  std::string_view name;
  std::vector<type::TypeId> arguments;  // empty: count(*)
  type::TypeId result;
  uint32_t state_bytes;
  bool skip_nulls = true;      // rows with a NULL argument do not reach Update
  bool ordered_input = false;  // string_agg, array_agg: the order of rows matters
  // states[i] is the state of row rows[i].
  Status (*update)(const Call& call, std::span<char* const> states);
  // Adds `from` to `into`: for partial aggregation.
  Status (*merge)(const char* from, char* into, Arena& arena);
  // Takes values out again that are in the states, as if they had never been in. nullptr: there is no exact way.
  Status (*remove)(const Call& call, std::span<char* const> states) = nullptr;
  // Writes the result of `state` at index `at` of `out`, which has a null bitmap.
  Status (*finish)(const char* state, uint32_t at, type::Vector& out, Arena& arena);
};
std::span<const Aggregate* const> FindAggregates(std::string_view name);

// Functions that give a set of rows in FROM.
struct SetFunction {
  std::string_view name;  // generate_series
  std::vector<type::TypeId> arguments;
  type::TypeId result;
  // Fills `out` with up to kVectorSize further values; sets `count`, 0 at the end. `state` is zeroed 64 bytes at first.
  // Requires: no argument is NULL (PostgreSQL: then there are no rows). The arena may be reset between calls.
  Status (*next)(Context& context, std::span<const type::Datum> args, char* state, Arena& arena, type::Vector& out,
                 uint32_t& count);
};
std::span<const SetFunction* const> FindSetFunctions(std::string_view name);

}  // namespace sisal::function
