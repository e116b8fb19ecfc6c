// SPDX-License-Identifier: Apache-2.0
#include "tracer/timing/tensor_maps.h"

#include <algorithm>
#include <cstring>

#include "tracer/log/event_log.h"
#include "tracer/maps/cubin.h"
#include "tracer/timing/driver_library.h"
#include "tracer/timing/live_allocations.h"

namespace uvmtrace {

namespace {

// The hardware requires maps at multiples of 64 bytes in constant memory.
constexpr std::size_t kMapAlignment = 64;
constexpr std::size_t kMostEncoded = 1U << 16;
constexpr int kFirstArchitecture = 90;  // with tensor copies

thread_local bool own_call = false;

bool encode_by_driver(const MapArguments& a, MapBytes& out) {
  alignas(128) CUtensorMap map;
  std::memset(&map, 0, sizeof map);
  const auto type = static_cast<CUtensorMapDataType>(a.type);
  const auto interleave = static_cast<CUtensorMapInterleave>(a.interleave);
  const auto swizzle = static_cast<CUtensorMapSwizzle>(a.swizzle);
  const auto promotion = static_cast<CUtensorMapL2promotion>(a.l2_promotion);
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(a.fill);
  void* const va = reinterpret_cast<void*>(a.va);
  static_assert(sizeof(cuuint64_t) == sizeof(std::uint64_t) && sizeof(cuuint32_t) == sizeof(std::uint32_t));
  std::array<cuuint64_t, kMaxMapRank> dims{}, strides{};
  std::copy(a.dims.begin(), a.dims.end(), dims.begin());
  std::copy(a.strides.begin(), a.strides.end(), strides.begin());
  own_call = true;
  const CUresult result =
      a.im2col ? driver().cuTensorMapEncodeIm2col(&map, type, a.rank, va, dims.data(), strides.data(), a.lower.data(),
                                                  a.upper.data(), a.box[0], a.pixels, a.element_strides.data(),
                                                  interleave, swizzle, promotion, fill)
               : driver().cuTensorMapEncodeTiled(&map, type, a.rank, va, dims.data(), strides.data(), a.box.data(),
                                                 a.element_strides.data(), interleave, swizzle, promotion, fill);
  own_call = false;
  std::memcpy(out.data(), &map, out.size());
  return result == CUDA_SUCCESS;
}

// Writes a line for the merge: how the kernel's code uses its maps.
void write_copies(std::string_view kernel, const std::vector<TensorCopy>& copies) {
  JsonLine line("tensor_copies");
  line.text("name", kernel);
  line.begin_list("copies");
  std::vector<TensorCopy> said;
  for (const TensorCopy& copy : copies) {
    if (std::find(said.begin(), said.end(), copy) != said.end()) continue;
    said.push_back(copy);
    line.begin_list();
    line.item(static_cast<int>(copy.kind)).item(copy.sure ? 1 : 0).item(copy.repeated ? 1 : 0);
    line.item(std::count(copies.begin(), copies.end(), copy));
    line.begin_list();
    for (const std::uint32_t offset : copy.offsets) line.item(offset);
    line.end_list().end_list();
  }
  line.end_list();
  EventLog::instance().write(std::move(line));
}

}  // namespace

TensorMaps& TensorMaps::instance() {
  static TensorMaps* const maps = new TensorMaps;
  return *maps;
}

bool TensorMaps::is_own_call() { return own_call; }

void TensorMaps::note_module(const CUpti_ModuleResourceData& module) {
  if (module.pCubin == nullptr) return;
  const Code file(reinterpret_cast<const unsigned char*>(module.pCubin), module.cubinSize);
  std::vector<std::pair<std::string, std::string>> found;
  const int architecture = for_each_function(file, [&](std::string_view kernel, Code code) {
    if (has_tensor_copies(code)) {
      found.emplace_back(kernel, std::string(reinterpret_cast<const char*>(code.data()), code.size()));
    }
  });
  if (architecture < kFirstArchitecture) return;
  const std::unique_lock lock(mutex_);
  if (architecture != kCopyCodeArchitecture) {
    other_architectures_ = true;
    return;
  }
  for (auto& [kernel, code] : found) {
    std::vector<std::string>& known = code_[kernel];
    if (std::find(known.begin(), known.end(), code) == known.end()) {
      known.push_back(std::move(code));
      said_.erase(kernel);
    }
  }
}

void TensorMaps::note_encoded(const MapArguments& arguments, const void* map) {
  const std::optional<TensorMap> meaning = map_of(arguments);
  if (!meaning) return;
  MapBytes bytes;
  std::memcpy(bytes.data(), map, bytes.size());
  const std::unique_lock lock(mutex_);
  if (encoded_.size() < kMostEncoded) encoded_.insert_or_assign(bytes, *meaning);
}

bool TensorMaps::wanted(std::string_view kernel) {
  {
    const std::shared_lock lock(mutex_);
    if (code_.empty() && !other_architectures_) return false;
    if (said_.contains(kernel)) return true;
    if (!code_.contains(kernel)) return other_architectures_;
  }
  std::vector<TensorCopy> copies;
  {
    const std::unique_lock lock(mutex_);
    if (!said_.emplace(kernel).second) return true;
    const std::vector<std::string>& codes = code_.find(kernel)->second;
    for (const std::string& code : codes) {
      std::vector<TensorCopy> more = tensor_copies({reinterpret_cast<const unsigned char*>(code.data()), code.size()});
      copies.insert(copies.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    // With several kernels of one name it is not known which is launched.
    for (TensorCopy& copy : copies) copy.sure = copy.sure && codes.size() == 1;
  }
  write_copies(kernel, copies);
  return true;
}

void TensorMaps::learn() {
  JsonLine line("tensor_maps");
  std::string why;
  if (driver().cuTensorMapEncodeTiled == nullptr || driver().cuTensorMapEncodeIm2col == nullptr) {
    why = "the driver does not encode any";
  } else {
    layout_ = MapLayout::learn(&encode_by_driver, why);
  }
  line.number("verified", layout_ ? layout_->verified() : 0);
  if (!layout_) {
    line.text("why", why);
    EventLog::complain("tensor maps of libraries cannot be read: " + why);
  }
  EventLog::instance().write(std::move(line));
}

// Decodes a map. Maps that the program let the driver encode are known, and the layout must agree with them.
std::optional<TensorMap> TensorMaps::decode(const MapBytes& bytes) {
  std::call_once(learned_, [this] { learn(); });
  const std::optional<TensorMap> decoded = layout_ && !distrusted_ ? layout_->decode(bytes) : std::nullopt;
  const auto known = encoded_.find(bytes);
  if (known == encoded_.end()) return decoded;
  if (layout_ && !distrusted_ && decoded != known->second) {
    distrusted_ = true;
    EventLog::instance().note(
        "a tensor map of the program is not what it is decoded to: maps of libraries are no longer read");
  }
  return known->second;
}

std::vector<MapParameter> TensorMaps::find(const std::vector<unsigned char>& parameters) {
  std::vector<MapParameter> out;
  const LiveAllocations& live = LiveAllocations::instance();
  constexpr std::size_t kFirst = (kMapAlignment - kParametersInConstantMemory % kMapAlignment) % kMapAlignment;
  const std::unique_lock lock(mutex_);
  const std::size_t step = other_architectures_ ? sizeof(std::uint64_t) : kMapAlignment;
  for (std::size_t at = kFirst % step; at + kMapBytes <= parameters.size(); at += step) {
    std::uint64_t word = 0;
    std::memcpy(&word, parameters.data() + at, sizeof word);
    if (!live.may_be_pointer(word)) continue;
    MapBytes bytes;
    std::memcpy(bytes.data(), parameters.data() + at, bytes.size());
    const std::optional<TensorMap> map = decode(bytes);
    if (!map) continue;
    const std::optional<Allocation> place = live.find(map->va);
    if (!place || span_bytes(*map) > place->va + place->bytes - map->va) continue;
    out.push_back({static_cast<std::uint32_t>(at), *map});
  }
  return out;
}

}  // namespace uvmtrace
