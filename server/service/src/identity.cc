// The file DIR/sisald.identity:
//   0..7    "SISALID1"
//   8..23   server id (a random UUID)
//   24..55  key of the handles' MAC
//   56..59  CRC32C of 0..55
// Written once, so that later starts need no space on the disk.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "sisal/base/bytes.h"
#include "sisal/base/random.h"
#include "sisal/service/handle.h"

namespace sisal::service {
namespace {

constexpr std::string_view kMagic = "SISALID1";
constexpr size_t kFileBytes = 60;

Error IoError(const std::string& call, const std::string& path) {
  const int error = errno;
  return Error{error == ENOSPC || error == EDQUOT || error == EFBIG ? "53100" : "58030",
               call + " \"" + path + "\": " + std::strerror(error)};
}

// Closes at the end of its scope.
struct FileDescriptor {
  explicit FileDescriptor(int number) : fd(number) {}
  ~FileDescriptor() {
    if (fd >= 0) close(fd);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int fd;
};

// nullopt: there is no file.
Result<std::optional<Identity>> Read(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0 && errno == ENOENT) return std::optional<Identity>();
  char bytes[kFileBytes + 1];
  const ssize_t size = file.fd < 0 ? -1 : read(file.fd, bytes, sizeof(bytes));
  if (size < 0) return IoError("cannot read", path);
  if (size != kFileBytes || std::string_view(bytes, kMagic.size()) != kMagic ||
      Crc32c({bytes, kFileBytes - 4}) != LoadLittle<uint32_t>(bytes + kFileBytes - 4)) {
    return Error{"XX001", "\"" + path + "\" is damaged"}.WithHint(
        "It may be removed: handles of transactions that were open before are then refused as invalid.");
  }
  Identity identity;
  std::memcpy(identity.server_id.data(), bytes + 8, identity.server_id.size());
  std::memcpy(identity.key.data(), bytes + 24, identity.key.size());
  return std::optional<Identity>(identity);
}

// Writes beside it, syncs, renames over it: a crash leaves the old file or the new one.
Status Write(const Identity& identity, const std::string& directory, const std::string& path) {
  std::string bytes(kMagic);
  bytes.append(reinterpret_cast<const char*>(identity.server_id.data()), identity.server_id.size());
  bytes.append(reinterpret_cast<const char*>(identity.key.data()), identity.key.size());
  AppendLittle(bytes, Crc32c(bytes));
  const std::string temporary = path + ".new";
  {
    const FileDescriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (file.fd < 0) return IoError("cannot make", temporary);
    const ssize_t written = write(file.fd, bytes.data(), bytes.size());
    if (written >= 0 && static_cast<size_t>(written) != bytes.size()) errno = ENOSPC;
    if (written < 0 || static_cast<size_t>(written) != bytes.size()) return IoError("cannot write", temporary);
    if (fsync(file.fd) != 0) return IoError("cannot sync", temporary);
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) return IoError("cannot rename to", path);
  const FileDescriptor parent(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.fd < 0 || fsync(parent.fd) != 0) return IoError("cannot sync", directory);
  return Status();
}

}  // namespace

Result<Identity> OpenIdentity(const std::string& directory) {
  const std::string path = directory + "/sisald.identity";
  SISAL_ASSIGN_OR_RETURN(std::optional<Identity> found, Read(path));
  Identity identity;
  if (found.has_value()) {
    identity = *found;
  } else {
    SecureRandomBytes(identity.server_id.data(), identity.server_id.size());
    identity.server_id[6] = static_cast<uint8_t>((identity.server_id[6] & 0x0F) | 0x40);  // RFC 4122, version 4
    identity.server_id[8] = static_cast<uint8_t>((identity.server_id[8] & 0x3F) | 0x80);
    SecureRandomBytes(identity.key.data(), identity.key.size());
    SISAL_RETURN_IF_ERROR(Write(identity, directory, path));
  }
  identity.boot = SecureRandom64();
  return identity;
}

}  // namespace sisal::service
