// Transaction handles and result tokens: opaque to clients, not to be forged, and known for what they are after a
// restart.
//
//   byte 0      kind: 1 transaction, 2 held result
//   1..8        boot: drawn anew at each start
//   9..16       number within the boot
//   17..32      first half of HMAC-SHA256 over the store's id, bytes 0..16 and the principal, under the store's key
//
// Immutable.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sisal/base/status.h"

namespace sisal::service {

// Names the store and signs its handles; lives in the data directory (identity.h).
struct Identity {
  std::array<uint8_t, 16> server_id{};
  std::array<uint8_t, 32> key{};
  uint64_t boot = 0;  // of this start

  std::string ServerIdText() const;  // as a UUID
};

// Reads DIR/sisald.identity, or makes it at the first start. Blocks. Requires: the directory's lock is held.
// Errors: 53100, 58030, XX001.
Result<Identity> OpenIdentity(const std::string& directory);

enum class HandleKind : uint8_t { kTransaction = 1, kHeldResult = 2 };
inline constexpr size_t kHandleBytes = 33;

class HandleCodec {
 public:
  explicit HandleCodec(const Identity& identity) : identity_(identity) {}
  std::string Encode(HandleKind kind, uint64_t number, std::string_view principal) const;
  // Errors: 22023 HANDLE_INVALID not one of ours, or another principal's; 08007 a transaction handle of an earlier
  // start, 55000 RESULT_EXPIRED a held result of one.
  Result<uint64_t> Decode(HandleKind kind, std::string_view handle, std::string_view principal) const;

 private:
  std::array<uint8_t, 16> Mac(std::string_view head, std::string_view principal) const;
  Identity identity_;
};

}  // namespace sisal::service
