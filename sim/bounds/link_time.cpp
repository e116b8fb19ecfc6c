// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/link_time.h"

#include <algorithm>

namespace uvmsim::bounds {

namespace {

constexpr std::uint64_t transfer_ns(std::uint64_t pages, std::uint64_t bytes_per_us) {
  return bytes_per_us == 0 ? 0 : pages * kBasePageBytes * 1000 / bytes_per_us;
}

}  // namespace

LinkTime::LinkTime(const config::SystemConfig& system, std::span<const unsigned> gpus) {
  for (const unsigned gpu : gpus) {
    const config::LinkConfig& link = system.host_links[gpu];
    const std::uint64_t sum = link.host_to_device.bytes_per_us + link.device_to_host.bytes_per_us;
    in_.bytes_per_us += link.host_to_device.bytes_per_us;
    out_.bytes_per_us += link.device_to_host.bytes_per_us;
    both_bytes_per_us_ += link.both_ways_bytes_per_us == 0 ? sum : std::min(link.both_ways_bytes_per_us, sum);
  }
  const std::uint64_t host = system.host.memory_bytes_per_us;
  if (host != 0) both_bytes_per_us_ = std::min(both_bytes_per_us_, host);
  if (gpus.size() > 1) return;  // pushes of different GPUs overlap

  gap_ns_ = system.costs.push_gap_ns;
  const config::LinkConfig& link = system.host_links[gpus.front()];
  for (auto [direction, config] : {std::pair(&in_, &link.host_to_device), std::pair(&out_, &link.device_to_host)}) {
    direction->push_ns = config->latency_ns + gap_ns_;
    // Without large host pages every page is a run of its own (PageCopies::push).
    if (!system.host.large_pages) direction->page_ns = std::min(config->run_ns, direction->push_ns);
  }
}

std::uint64_t LinkTime::one_way(const Direction& direction, std::uint64_t pages) const {
  if (pages == 0) return 0;
  const std::uint64_t pushes = (pages + kPagesPerBlock - 1) / kPagesPerBlock;
  return pushes * direction.push_ns - gap_ns_ + (pages - pushes) * direction.page_ns +
         transfer_ns(pages, direction.bytes_per_us);
}

Nanoseconds LinkTime::of(std::uint64_t pages_in, std::uint64_t pages_out) const {
  const std::uint64_t longest = std::max(
      {one_way(in_, pages_in), one_way(out_, pages_out), transfer_ns(pages_in + pages_out, both_bytes_per_us_)});
  return Nanoseconds(static_cast<std::int64_t>(longest));
}

}  // namespace uvmsim::bounds
