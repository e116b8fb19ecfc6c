// SPDX-License-Identifier: Apache-2.0
#include "tests/validate/calibration_experiments.h"

#include <fmt/format.h>

#include "sim/validate/experiment.h"
#include "sim/validate/experiment_program.h"
#include "sim/validate/observation.h"

namespace uvmsim::validate {

namespace {

// Returns an experiment's line with these events.
std::string line(const std::string& name, const std::string& mode, std::uint64_t mib, bool on_host,
                 const std::string& touches, const std::string& events) {
  const std::uint64_t bytes = mib << 20;
  return fmt::format(
      "{{\"name\":\"{}\",\"mode\":\"{}\",\"bytes\":{},\"va_offset_in_2m\":0,\"advise\":\"none\",\"host_populated\":[{}]"
      ","
      "\"gpu_resident\":[],\"touches\":[{}],\"events\":[{}]}}\n",
      name, mode, bytes, on_host ? fmt::format("[0,{}]", bytes) : "", touches, events);
}

std::string events_of(const Observation& seen) {
  std::string text = fmt::format("[\"kernel\",0,{},-1,0,0]", seen.kernel_ns);
  for (const ObservedBatch& batch : seen.batches) {
    text += fmt::format(",[\"gpu_fault\",{},{},{},1,1]", batch.start_ns, batch.end_ns, batch.offset);
  }
  for (const ObservedTransfer& transfer : seen.transfers) {
    text += fmt::format(",[\"htod\",{},{},{},{},{}]", transfer.start_ns, transfer.end_ns, transfer.offset,
                        transfer.bytes, static_cast<int>(transfer.cause));
  }
  return text;
}

// Simulates the line's program on `truth` and adds its events to the line.
template <class... Parts>
std::string measured(const config::SystemConfig& truth, const Parts&... parts) {
  const ExperimentFile file = parse_experiments(line(parts..., "[\"kernel\",0,1000,-1,0,0]"), "made");
  return line(parts..., events_of(observe_simulated(make_program(file.experiments.at(0), truth), truth)));
}

std::string strided(std::uint64_t mib, std::uint64_t stride, const char* mode) {
  std::string text;
  for (std::uint64_t page = 0; page < mib * 256; page += stride) {
    text += fmt::format("{}[{},\"{}\"]", text.empty() ? "" : ",", page, mode);
  }
  return text;
}

}  // namespace

std::string simulated_experiments(const config::SystemConfig& machine) {
  // A listener records the events, and such times include its own cost.
  config::SystemConfig truth = machine;
  truth.listener.present = true;
  const std::string ordered = "ordered";
  std::string text;
  for (const std::uint64_t stride : {1u, 8u, 16u, 32u, 40u, 64u, 128u}) {
    text += measured(truth, fmt::format("read{}", stride), ordered, std::uint64_t{8}, true, strided(8, stride, "r"));
  }
  for (const std::uint64_t stride : {16u, 32u, 64u}) {
    text += measured(truth, fmt::format("write{}", stride), ordered, std::uint64_t{8}, false, strided(8, stride, "w"));
  }
  for (const int grid : {8, 16}) {
    text +=
        measured(truth, fmt::format("rd_g{}", grid), std::string("stream_rd"), std::uint64_t{8}, true, std::string());
    text +=
        measured(truth, fmt::format("wr_g{}", grid), std::string("stream_wr"), std::uint64_t{8}, false, std::string());
  }
  return text;
}

}  // namespace uvmsim::validate
