#pragma once

#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hirgen/context.hpp"
#include "watchdog/device_monitor.hpp"

namespace hirgen {

/// The resources that the context makes and frees.
struct Context::Resources {
  std::unique_ptr<DeviceMonitor> monitor;
  ncclComm_t world = nullptr;
  std::vector<std::unique_ptr<Team>> teams;  // Team& stays valid while more are added
  Team* world_team = nullptr;
  std::vector<ncclComm_t> splits;
  std::vector<cudaStream_t> team_streams;
  std::map<int, cudaStream_t> workers;
  std::map<cudaStream_t, std::string> stream_names;
  std::vector<cudaEvent_t> events;
  std::vector<void*> buffers;
  int lowest_priority = 0;
  int highest_priority = 0;
  std::vector<Remains> remains;
  bool keeps_comms = false;
  bool freeing = false;  // free_all() has begun to free resources
  int exceptions = std::uncaught_exceptions();
};

}  // namespace hirgen
