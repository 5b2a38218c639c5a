// The simulated runtime and disk themselves.
#include "sisal/base/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "scenario.h"
#include "sim_disk.h"
#include "sisal/base/clock.h"
#include "sisal/io/simulation.h"
#include "sisal/io/time.h"
#include "sisal/testing/status_matchers.h"

namespace sisal::sim {
namespace {

constexpr io::SimulationMode kModes[] = {io::SimulationMode::kRandom, io::SimulationMode::kAdversarial,
                                         io::SimulationMode::kPriorities};

io::SimulationOptions OptionsOf(SimDisk& disk, uint64_t seed = 1) {
  io::SimulationOptions options;
  options.seed = seed;
  options.loop_count = 3;
  options.file_system = &disk;
  return options;
}

// Fibers on all loops that yield, sleep and take a mutex; the order in which they pass it.
std::string PlayOrder(const io::SimulationOptions& options, uint64_t* trace = nullptr) {
  io::Simulation simulation(options);
  std::string order;
  simulation.runtime().RunAndWait("test", [&] {
    io::Mutex mutex;
    Crew crew(simulation.runtime());
    for (char name = 'a'; name < 'k'; ++name) {
      crew.Add("fiber", [&, name] {
        for (int i = 0; i < 3; ++i) {
          io::Yield();
          io::SleepFor(std::chrono::microseconds(name % 3));
          io::MutexLock lock(mutex);
          io::Yield();
          order += name;
        }
      });
    }
    crew.WaitForAll();
  });
  if (trace != nullptr) *trace = simulation.trace_hash();
  return order;
}

TEST(SimulationTest, ASeedRepeatsAndAnotherDiffers) {
  SimDisk disk(1);
  for (const io::SimulationMode mode : kModes) {
    io::SimulationOptions options = OptionsOf(disk);
    options.mode = mode;
    uint64_t first = 0, again = 0, other = 0;
    const std::string order = PlayOrder(options, &first);
    EXPECT_EQ(order.size(), 30u);
    EXPECT_EQ(PlayOrder(options, &again), order);
    EXPECT_EQ(again, first);
    options.seed = 2;
    EXPECT_NE(PlayOrder(options, &other), order);
    EXPECT_NE(other, first);
  }
}

TEST(SimulationTest, TimeIsVirtual) {
  SimDisk disk(1);
  io::Simulation simulation(OptionsOf(disk));
  simulation.runtime().RunAndWait("test", [&] {
    const Instant start = io::Now();
    io::SleepFor(std::chrono::minutes(5));
    EXPECT_GE(io::Now() - start, std::chrono::minutes(5));
    EXPECT_LT(io::Now() - start, std::chrono::minutes(5) + std::chrono::seconds(1));
  });
}

TEST(SimulationTest, FibersRunWhileAnAttachedThreadParks) {
  SimDisk disk(1);
  io::Simulation simulation(OptionsOf(disk));
  EXPECT_FALSE(io::OnFiber());
  {
    const io::AttachedThread attached(simulation.runtime());
    EXPECT_TRUE(io::OnFiber());
    io::Event event;
    simulation.runtime().Spawn({}, [&] { event.Set(); });
    event.Wait();
    io::SleepFor(std::chrono::seconds(1));
  }
  EXPECT_FALSE(io::OnFiber());
}

TEST(SimulationTest, DestructorWaitsForFibers) {
  SimDisk disk(1);
  bool ended = false;
  {
    io::Simulation simulation(OptionsOf(disk));
    simulation.runtime().Spawn({}, [&] {
      io::SleepFor(std::chrono::seconds(1));
      ended = true;
    });
  }
  EXPECT_TRUE(ended);
}

TEST(SimulationTest, OtherLoopsComeInAtAPointThisOneDoesNot) {
  SimDisk disk(1);
  io::SimulationOptions options = OptionsOf(disk);
  options.loop_count = 2;
  options.point_one_in = 1;
  io::Simulation simulation(options);
  simulation.runtime().RunAndWait("test", [&] {
    Crew crew(simulation.runtime());
    size_t inside[2] = {0, 0};
    bool were_both = false;
    for (int i = 0; i < 20; ++i) {
      crew.Add("fiber", [&] {
        for (int turn = 0; turn < 5; ++turn) {
          const size_t loop = io::CurrentLoop()->index();
          ASSERT_EQ(inside[loop]++, 0u);
          SISAL_SIM_POINT();
          were_both |= inside[1 - loop] > 0;
          --inside[loop];
          io::Yield();
        }
      });
    }
    crew.WaitForAll();
    EXPECT_TRUE(were_both);
  });
}

TEST(SimulationDeathTest, WhoeverWaitsForNothingIsNamed) {
  SimDisk disk(1);
  EXPECT_DEATH(
      {
        io::Simulation simulation(OptionsOf(disk));
        simulation.runtime().RunAndWait("sleeper", [] {
          io::Event never;
          never.Wait();
        });
      },
      "nothing can run, and no timer is set; alive: sleeper x1");
}

TEST(SimulationDeathTest, ARunThatDoesNotEndIsFound) {
  SimDisk disk(1);
  EXPECT_DEATH(
      {
        io::Simulation simulation(OptionsOf(disk));
        simulation.runtime().RunAndWait("waiter", [] {
          for (;;) io::SleepFor(std::chrono::seconds(1));
        });
      },
      "does not end in time");
}

TEST(SimulationDeathTest, TheMachinesClockEndsARun) {
  SimDisk disk(1);
  EXPECT_DEATH(
      {
        io::Simulation simulation(OptionsOf(disk));
        simulation.runtime().RunAndWait("test", [] { static_cast<void>(SystemClock().Now()); });
      },
      "the machine's clock");
}

TEST(SimulationDeathTest, ARealRuntimeEndsARun) {
  SimDisk disk(1);
  EXPECT_DEATH(
      {
        io::Simulation simulation(OptionsOf(disk));
        simulation.runtime().RunAndWait("test", [] { static_cast<void>(io::Runtime::Start({.loop_count = 1})); });
      },
      "Runtime::Start");
}

TEST(SimulationTest, SecretsRepeat) {
  SimDisk disk(1);
  const auto draw = [&] {
    io::Simulation simulation(OptionsOf(disk));
    uint64_t value = 0;
    simulation.runtime().RunAndWait("test", [&] { value = SecureRandom64(); });
    return value;
  };
  EXPECT_EQ(draw(), draw());
}

class SimDiskTest : public ::testing::Test {
 protected:
  void Play(const std::function<void()>& body) {
    io::Simulation simulation(OptionsOf(disk_));
    simulation.runtime().RunAndWait("test", body);
  }
  std::unique_ptr<io::File> Open(bool direct = false) {
    return disk_.Open("/d/f", {.write = true, .create = true, .direct = direct}).value();
  }
  std::string Read(io::File& file, size_t size_bytes = 8192) {
    std::string bytes(size_bytes, '\0');
    bytes.resize(file.ReadAt(0, bytes).value());
    return bytes;
  }
  // Writes and syncs `durable`, then writes `later`, and cuts the power.
  std::string AfterPowerCut(const std::string& durable, const std::string& later) {
    auto file = Open();
    EXPECT_OK(file->WriteAt(0, durable));
    EXPECT_OK(file->Sync());
    EXPECT_OK(disk_.SyncDirectory("/d"));
    EXPECT_OK(file->WriteAt(0, later));
    disk_.Crash(CrashKind::kPowerCut);
    return Read(*Open());
  }
  SimDisk disk_{1};
};

TEST_F(SimDiskTest, SyncedBytesSurviveAndUnsyncedSectorsAreOldOrNewOrGarbled) {
  Play([&] {
    std::vector<bool> seen(3);  // old, new, neither
    for (int i = 0; i < 200; ++i) {
      const std::string bytes = AfterPowerCut(std::string(1024, 'a'), std::string(512, 'b') + std::string(512, 'a'));
      ASSERT_EQ(bytes.size(), 1024u);
      EXPECT_EQ(bytes.substr(512), std::string(512, 'a'));  // not changed, so not garbled
      const std::string first = bytes.substr(0, 512);
      seen[first == std::string(512, 'a') ? 0 : first == std::string(512, 'b') ? 1 : 2] = true;
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 3);
  });
}

TEST_F(SimDiskTest, AFileWhoseDirectoryIsNotSyncedMayVanish) {
  Play([&] {
    int found = 0;
    for (int i = 0; i < 50; ++i) {
      const std::string path = "/d/new" + std::to_string(i);
      auto file = disk_.Open(path, {.write = true, .create = true}).value();
      EXPECT_OK(file->Sync());
      disk_.Crash(CrashKind::kPowerCut);
      found += disk_.Exists(path).value();
    }
    EXPECT_GT(found, 0);
    EXPECT_LT(found, 50);
  });
}

TEST_F(SimDiskTest, AKillLeavesWhatReadsShowButNotOnStableStorage) {
  Play([&] {
    auto file = Open();
    EXPECT_OK(disk_.SyncDirectory("/d"));
    EXPECT_OK(file->WriteAt(0, std::string(512, 'a')));
    disk_.Crash(CrashKind::kKill);
    EXPECT_EQ(Read(*Open()), std::string(512, 'a'));
    disk_.faults.garble_one_in = 1;
    disk_.Crash(CrashKind::kPowerCut);
    EXPECT_NE(Read(*Open()), std::string(512, 'a'));
  });
}

TEST_F(SimDiskTest, AfterAFailedSyncTheNextOneLies) {
  Play([&] {
    int lost = 0;
    for (int i = 0; i < 20; ++i) {
      auto file = Open();
      EXPECT_OK(file->WriteAt(0, std::string(512, 'a')));
      EXPECT_OK(file->Sync());
      EXPECT_OK(disk_.SyncDirectory("/d"));
      EXPECT_OK(file->WriteAt(0, std::string(512, 'b')));
      disk_.faults.error_at_operation = 1;
      EXPECT_SQLSTATE(file->Sync(), "58030");
      EXPECT_OK(file->Sync());
      EXPECT_EQ(Read(*file), std::string(512, 'b'));
      disk_.Crash(CrashKind::kPowerCut);
      lost += Read(*Open()) == std::string(512, 'a');
    }
    EXPECT_GT(lost, 0);
  });
}

TEST_F(SimDiskTest, ACrashEndsWhatIsInFlight) {
  Play([&] {
    auto file = Open();
    bool crashed = false;
    disk_.on_operation = [&](uint64_t) {
      if (!crashed) disk_.Crash(CrashKind::kPowerCut);
      crashed = true;
    };
    EXPECT_SQLSTATE(file->WriteAt(0, std::string(512, 'a')), "58030");
    EXPECT_SQLSTATE(file->Sync(), "58030");
    disk_.on_operation = nullptr;
  });
}

TEST_F(SimDiskTest, SpaceIsCounted) {
  Play([&] {
    disk_.capacity_bytes = 4096;
    auto file = Open();
    EXPECT_OK(file->Allocate(0, 4096));
    EXPECT_EQ(disk_.FreeSpace("/d").value(), 0u);
    EXPECT_SQLSTATE(file->WriteAt(4096, std::string(1, 'a')), "53100");
    EXPECT_OK(file->WriteAt(0, std::string(4096, 'a')));
    disk_.file_bytes_max = 8192;
    disk_.capacity_bytes = UINT64_MAX;
    EXPECT_SQLSTATE(file->Allocate(0, 8193), "53100");
  });
}

TEST_F(SimDiskTest, DirectWritesMustBeAligned) {
  Play([&] {
    auto file = Open(/*direct=*/true);
    EXPECT_TRUE(file->direct());
    alignas(4096) static char block[8192];
    EXPECT_OK(file->WriteAt(4096, {block, 4096}));
    EXPECT_DEATH(static_cast<void>(file->WriteAt(0, {block + 512, 4096})), "kBlockBytes == 0");
  });
}

}  // namespace
}  // namespace sisal::sim
