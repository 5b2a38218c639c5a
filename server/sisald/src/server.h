// The server's life, from its settings to its exit code.
//
//   HTTP listens -> gRPC listens (57P03) -> the database opens -> ready line -> a signal -> drain -> close -> exit
#pragma once

#include "sisal/config/settings.h"

namespace sisal::sisald {

// Blocks SIGTERM and SIGINT for all threads that are made later. Call it first.
void BlockSignals();

// Serves until SIGTERM, SIGINT or AdminService.Drain. Returns the exit code: 0 in order; 1 an error; 3 the directory or
// an address is in use.
int RunServer(const config::Settings& settings);

}  // namespace sisal::sisald
