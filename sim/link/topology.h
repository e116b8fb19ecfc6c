// SPDX-License-Identifier: Apache-2.0
// All links of a system: a pair of copy engines between each GPU and the host, one engine per direction between peer
// GPUs, and a pair of queues between the host and its SSD tier.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/config/system.h"
#include "sim/link/bandwidth_profile.h"
#include "sim/link/copy_engine.h"
#include "sim/link/storage_queue.h"
#include "sim/memory/processor.h"

namespace uvmsim::link {

enum class Direction : std::uint8_t { kHostToDevice = 0, kDeviceToHost = 1 };

class Topology {
 public:
  // Requires one host link per GPU with a bandwidth in both directions; throws InputError naming the key otherwise.
  explicit Topology(const config::SystemConfig& system);
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  std::uint32_t gpu_count() const { return static_cast<std::uint32_t>(links_.size()); }
  // The engine does not move during the life of the topology.
  CopyEngine& engine(std::uint32_t gpu, Direction direction) {
    return direction == Direction::kHostToDevice ? links_[gpu]->host_to_device : links_[gpu]->device_to_host;
  }
  const CopyEngine& engine(std::uint32_t gpu, Direction direction) const {
    return direction == Direction::kHostToDevice ? links_[gpu]->host_to_device : links_[gpu]->device_to_host;
  }

  // The engine that moves memory between two processors: the host and a GPU, or two peer GPUs.
  CopyEngine& engine(ProcessorId from, ProcessorId to) {
    if (from.is_host()) return links_[to.gpu()]->host_to_device;
    if (to.is_host()) return links_[from.gpu()]->device_to_host;
    return peer(from.gpu(), to.gpu())->engine;
  }

  // A direction between two GPUs: null if no link joins them; they then copy through the host. `rates` are the link's.
  struct Peer {
    CopyEngine engine;
    const config::PeerRates& rates;
    bool fast;  // NVLink
    // Makes an explicit copy, submitted now; returns when it is done.
    Nanoseconds copy(Nanoseconds now, std::uint64_t bytes);
    // Returns the time of such a copy on an idle machine.
    Nanoseconds unloaded_time(std::uint64_t bytes) const { return begin_of(bytes) + engine.unloaded_time(bytes); }
    Nanoseconds begin_of(std::uint64_t bytes) const;
  };
  Peer* peer(std::uint32_t from, std::uint32_t to) { return peers_[from * gpu_count() + to].get(); }
  const Peer* peer(std::uint32_t from, std::uint32_t to) const { return peers_[from * gpu_count() + to].get(); }

  bool has_ssd() const { return ssd_ != nullptr; }
  // Require has_ssd(). Reads move data from the SSD to the host, writes move it to the SSD.
  StorageQueue& ssd_read() { return ssd_->read; }
  StorageQueue& ssd_write() { return ssd_->write; }

  void add_state(StateDigest& digest) const;

 private:
  struct Link {
    std::unique_ptr<BandwidthProfile> duplex;  // null if both directions together reach the sum of the two
    CopyEngine host_to_device, device_to_host;
  };
  struct Ssd {
    StorageQueue read, write;
  };

  BandwidthProfile* share(std::uint64_t bytes_per_us);
  void join_peers(const config::SystemConfig& system);

  std::unique_ptr<BandwidthProfile> host_;                 // null if host memory does not limit the links
  std::vector<std::unique_ptr<BandwidthProfile>> shared_;  // uplinks, ports of switches, both directions of peer links
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<std::unique_ptr<Peer>> peers_;  // [from][to]
  std::unique_ptr<Ssd> ssd_;
};

}  // namespace uvmsim::link
