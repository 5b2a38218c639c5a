#include "sisal/service/handle.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdio>
#include <cstring>

#include "sisal/base/bytes.h"
#include "sisal/base/check.h"

namespace sisal::service {
namespace {
constexpr size_t kHeadBytes = 17;
}

std::string Identity::ServerIdText() const {
  std::string text;
  for (size_t i = 0; i < server_id.size(); ++i) {
    char hex[4];
    std::snprintf(hex, sizeof(hex), "%02x", server_id[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += hex;
  }
  return text;
}

std::array<uint8_t, 16> HandleCodec::Mac(std::string_view head, std::string_view principal) const {
  std::string message(reinterpret_cast<const char*>(identity_.server_id.data()), identity_.server_id.size());
  message += head;
  message += principal;
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const unsigned char* done =
      HMAC(EVP_sha256(), identity_.key.data(), static_cast<int>(identity_.key.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(), digest, &size);
  SISAL_CHECK(done != nullptr);
  SISAL_CHECK(size == 32);
  std::array<uint8_t, 16> mac;
  std::memcpy(mac.data(), digest, mac.size());
  return mac;
}

std::string HandleCodec::Encode(HandleKind kind, uint64_t number, std::string_view principal) const {
  std::string handle(1, static_cast<char>(kind));
  AppendLittle(handle, identity_.boot);
  AppendLittle(handle, number);
  const std::array<uint8_t, 16> mac = Mac(handle, principal);
  handle.append(reinterpret_cast<const char*>(mac.data()), mac.size());
  return handle;
}

Result<uint64_t> HandleCodec::Decode(HandleKind kind, std::string_view handle, std::string_view principal) const {
  const bool transaction = kind == HandleKind::kTransaction;
  const Error invalid =
      Error{"22023", transaction ? "invalid transaction handle" : "invalid resume token"}.WithReason("HANDLE_INVALID");
  if (handle.size() != kHandleBytes || handle[0] != static_cast<char>(kind)) return invalid;
  const std::array<uint8_t, 16> mac = Mac(handle.substr(0, kHeadBytes), principal);
  if (CRYPTO_memcmp(mac.data(), handle.data() + kHeadBytes, mac.size()) != 0) return invalid;
  if (LoadLittle<uint64_t>(handle.data() + 1) == identity_.boot) return LoadLittle<uint64_t>(handle.data() + 9);
  if (!transaction) {
    return Error{"55000", "the server has restarted and no longer holds this result"}
        .WithHint("Run the statement again, with Query if its result is large.")
        .WithReason("RESULT_EXPIRED");
  }
  return Error{"08007", "the server has restarted since this transaction began: its outcome is unknown"}.WithHint(
      "If it was begun with an idempotency key, GetTransaction tells by the key whether it was committed.");
}

}  // namespace sisal::service
