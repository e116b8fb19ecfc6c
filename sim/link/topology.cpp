// SPDX-License-Identifier: Apache-2.0
#include "sim/link/topology.h"

#include <algorithm>

#include "sim/common/error.h"

namespace uvmsim::link {
namespace {

// Far above any link (1 TB/us), low enough that no sum of engines overflows.
constexpr std::uint64_t kMaxBytesPerUs = std::uint64_t{1} << 40;

Nanoseconds nanoseconds(std::uint64_t ns) { return Nanoseconds(static_cast<std::int64_t>(ns)); }

// Returns the rates of a direction of a link to the host or between GPUs.
template <class Config>
EngineRates rates_of(const Config& config) {
  return {nanoseconds(config.latency_ns), nanoseconds(config.run_ns), config.bytes_per_us};
}

EngineRates checked_rates(const config::LinkDirectionConfig& direction, std::size_t gpu, const char* key) {
  if (direction.bytes_per_us == 0 || direction.bytes_per_us > kMaxBytesPerUs) {
    throw_input_error("host_links[{}].{}.bytes_per_us: {}; allowed: 1 to {}", gpu, key, direction.bytes_per_us,
                      kMaxBytesPerUs);
  }
  return rates_of(direction);
}

std::unique_ptr<BandwidthProfile> shared(std::uint64_t bytes_per_us, std::uint64_t sum_of_engines) {
  if (bytes_per_us == 0 || bytes_per_us >= sum_of_engines) return nullptr;
  return std::make_unique<BandwidthProfile>(bytes_per_us);
}

}  // namespace

Topology::Topology(const config::SystemConfig& system) {
  if (system.host_links.size() != system.gpus.size()) {
    throw_input_error("host_links: {} links for {} GPUs; allowed: one per GPU", system.host_links.size(),
                      system.gpus.size());
  }
  const bool has_ssd = system.ssd.memory_bytes != 0;
  if (has_ssd) {
    for (const std::uint64_t bandwidth : {system.ssd.read_bytes_per_us, system.ssd.write_bytes_per_us}) {
      if (bandwidth == 0 || bandwidth > kMaxBytesPerUs) {
        throw_input_error("ssd: read_bytes_per_us and write_bytes_per_us of a tier with memory; allowed: 1 to {}",
                          kMaxBytesPerUs);
      }
    }
  }
  std::uint64_t sum = has_ssd ? system.ssd.read_bytes_per_us + system.ssd.write_bytes_per_us : 0;
  for (const config::LinkConfig& link : system.host_links) {
    const std::uint64_t both = std::min(link.host_to_device.bytes_per_us, kMaxBytesPerUs) +
                               std::min(link.device_to_host.bytes_per_us, kMaxBytesPerUs);
    sum += link.both_ways_bytes_per_us == 0 ? both : std::min(both, link.both_ways_bytes_per_us);
  }
  host_ = shared(system.host.memory_bytes_per_us, sum);

  struct Uplink {
    BandwidthProfile* down = nullptr;
    BandwidthProfile* up = nullptr;
  };
  std::vector<Uplink> uplinks(system.gpus.size());
  for (const config::UplinkConfig& config : system.uplinks) {
    const Uplink uplink{share(config.host_to_device_bytes_per_us), share(config.device_to_host_bytes_per_us)};
    for (std::uint32_t gpu = config.first_gpu; gpu < config.first_gpu + config.gpu_count; ++gpu) {
      uplinks.at(gpu) = uplink;
    }
  }

  for (std::size_t gpu = 0; gpu < system.host_links.size(); ++gpu) {
    const config::LinkConfig& link = system.host_links[gpu];
    const EngineRates down = checked_rates(link.host_to_device, gpu, "host_to_device");
    const EngineRates up = checked_rates(link.device_to_host, gpu, "device_to_host");
    auto duplex = shared(link.both_ways_bytes_per_us, down.bytes_per_us + up.bytes_per_us);
    BandwidthProfile* const both_ways = duplex.get();
    links_.push_back(
        std::make_unique<Link>(Link{std::move(duplex), CopyEngine(down, {both_ways, host_.get(), uplinks[gpu].down}),
                                    CopyEngine(up, {both_ways, host_.get(), uplinks[gpu].up})}));
  }
  join_peers(system);
  if (has_ssd) {
    const auto queue = [&](std::uint64_t latency_ns, std::uint64_t bytes_per_us) {
      return StorageQueue(nanoseconds(latency_ns), bytes_per_us, system.ssd.queue_depth, host_.get());
    };
    ssd_ = std::make_unique<Ssd>(Ssd{queue(system.ssd.read_latency_ns, system.ssd.read_bytes_per_us),
                                     queue(system.ssd.write_latency_ns, system.ssd.write_bytes_per_us)});
  }
}

BandwidthProfile* Topology::share(std::uint64_t bytes_per_us) {
  return shared_.emplace_back(std::make_unique<BandwidthProfile>(bytes_per_us)).get();
}

void Topology::join_peers(const config::SystemConfig& system) {
  const std::size_t gpus = system.gpus.size();
  peers_.resize(gpus * gpus);
  const auto join = [&](std::size_t from, std::size_t to, const config::PeerRates& rates, bool fast,
                        const CopyEngine::Shared& shared) {
    peers_.at(from * gpus + to) = std::make_unique<Peer>(Peer{CopyEngine(rates_of(rates), shared), rates, fast});
  };
  for (const config::PeerLinkConfig& link : system.peer_links) {
    const bool halves = link.both_ways_bytes_per_us != 0 &&  //
                        link.both_ways_bytes_per_us < 2 * link.each_way.bytes_per_us;
    BandwidthProfile* const both = halves ? share(link.both_ways_bytes_per_us) : nullptr;
    join(link.first_gpu, link.second_gpu, link.each_way, link.kind == "nvlink", {both});
    join(link.second_gpu, link.first_gpu, link.each_way, link.kind == "nvlink", {both});
  }
  for (const config::PeerSwitchConfig& config : system.peer_switches) {
    std::vector<BandwidthProfile*> out, in;
    for (std::uint32_t gpu = 0; gpu < config.gpu_count; ++gpu) {
      out.push_back(share(config.port.bytes_per_us));
      in.push_back(share(config.port.bytes_per_us));
    }
    for (std::uint32_t from = 0; from < config.gpu_count; ++from) {
      for (std::uint32_t to = 0; to < config.gpu_count; ++to) {
        if (from == to) continue;
        join(config.first_gpu + from, config.first_gpu + to, config.port, true, {out[from], in[to]});
      }
    }
  }
}

Nanoseconds Topology::Peer::begin_of(std::uint64_t bytes) const {
  std::uint64_t more = rates.copy_ns;
  if (rates.copy_ramp_bytes != 0) {
    more += rates.copy_ramp_ns * std::min(bytes, rates.copy_ramp_bytes) / rates.copy_ramp_bytes;
  }
  return nanoseconds(more);
}

Nanoseconds Topology::Peer::copy(Nanoseconds now, std::uint64_t bytes) {
  if (bytes == 0) return now + begin_of(bytes);
  return engine.submit(now + begin_of(bytes), bytes).end;
}

void Topology::add_state(StateDigest& digest) const {
  if (host_) host_->add_state(digest);
  for (const auto& link : links_) {
    if (link->duplex) link->duplex->add_state(digest);
    link->host_to_device.add_state(digest);
    link->device_to_host.add_state(digest);
  }
  for (const auto& shared : shared_) shared->add_state(digest);
  for (const auto& peer : peers_) {
    if (peer) peer->engine.add_state(digest);
  }
  if (ssd_) {
    ssd_->read.add_state(digest);
    ssd_->write.add_state(digest);
  }
}

}  // namespace uvmsim::link
