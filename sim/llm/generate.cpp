// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/generate.h"

#include <fmt/format.h>

#include <filesystem>

#include "sim/config/load_system.h"
#include "sim/formats/json.h"
#include "sim/llm/network.h"
#include "sim/llm/recorder.h"
#include "sim/llm/roofline.h"

namespace uvmsim::llm {
namespace {

constexpr std::string_view kModes[] = {"train", "prefill", "decode"};
constexpr std::string_view kNumbers[] = {"float32", "bfloat16", "float16"};

trace::Header header_of(const Program& program, const std::string& file) {
  const Model& model = program.model;
  const Settings& settings = program.settings;
  trace::Header header;
  header.quantum_bytes = 512;
  header.tool = "uvmsim trace generate llm";
  header.gpu = config::load_system(settings.gpu).gpus.front().model;
  header.program =
      fmt::format("{} of {} ({}), batch {}, {} tokens, {}", kModes[static_cast<std::size_t>(settings.mode)],
                  std::filesystem::path(file).stem().string(), model.type, settings.batch, settings.tokens,
                  kNumbers[static_cast<std::size_t>(model.number)]);
  header.provenance = "generated from a model's configuration; kernel times from a roofline of " + settings.gpu;
  return header;
}

}  // namespace

Program read_program(const std::string& file, const Given& given) {
  const nlohmann::ordered_json json = read_json_file(file);
  const JsonValue config(json, file);
  Program program;
  ModelFile read = read_model(config);
  program.model = std::move(read.model);
  program.not_read = std::move(read.not_read);
  program.settings = read_settings(config, given, program.model);
  program.header = header_of(program, file);
  return program;
}

void generate(const Program& program, const std::function<void(const trace::Record&)>& sink) {
  const config::GpuConfig gpu = config::load_system(program.settings.gpu).gpus.front();
  const Roofline roofline(gpu, program.model.number);
  Recorder recorder(roofline, program.model.number, sink);
  Tape tape;
  Layers layers(recorder, tape, program.model.number, gpu.sm_count);
  Network network(layers, program.model, program.settings);
  network.load();
  for (std::uint64_t i = 0; i < program.settings.iterations; ++i) network.iterate(i);
  recorder.finish();
}

}  // namespace uvmsim::llm
