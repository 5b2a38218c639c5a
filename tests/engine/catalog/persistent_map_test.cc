#include "persistent_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "sisal/base/random.h"

namespace sisal::catalog {
namespace {

TEST(PersistentMapTest, EveryVersionStaysAsItWas) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  struct Version {
    PersistentMap<std::string, int> map;
    std::map<std::string, int> model;
  };
  std::vector<Version> versions(1);
  for (int step = 0; step < 2000; ++step) {
    Version next = versions[random.OneIn(10) ? random.Below(versions.size()) : versions.size() - 1];
    const std::string key = std::to_string(random.Below(300));
    if (random.OneIn(3)) {
      next.map = next.map.Without(key);
      next.model.erase(key);
    } else {
      next.map = next.map.With(key, step);
      next.model[key] = step;
    }
    next.map.CheckInvariants();
    if (step % 20 == 0) versions.push_back(next);
    versions.back() = std::move(next);
  }
  for (const Version& version : versions) {
    std::map<std::string, int> seen;
    version.map.ForEach([&](const std::string& key, int value) { seen[key] = value; });
    EXPECT_EQ(seen, version.model);
    EXPECT_EQ(version.map.size(), version.model.size());
    for (const auto& [key, value] : version.model) {
      ASSERT_NE(version.map.Find(key), nullptr);
      EXPECT_EQ(*version.map.Find(key), value);
    }
    EXPECT_EQ(version.map.Find(std::string("absent")), nullptr);
  }
}

}  // namespace
}  // namespace sisal::catalog
