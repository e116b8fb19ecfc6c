// SPDX-License-Identifier: Apache-2.0
// The tensor maps among a launch's parameters: those that the program let the driver encode, and those that libraries
// encode themselves, decoded with the layout that map_layout.h learned from this driver.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tracer/maps/copy_code.h"
#include "tracer/maps/map_layout.h"

namespace uvmtrace {

struct MapParameter {
  std::uint32_t offset = 0;  // offset among the parameters
  TensorMap map;
};

class TensorMaps {
 public:
  static TensorMaps& instance();

  // Called when a module is loaded: notes its kernels with tensor copies.
  void note_module(const CUpti_ModuleResourceData& module);
  // Called when the program lets the driver encode this map.
  void note_encoded(const MapArguments& arguments, const void* map);

  // Returns whether maps may be among the parameters of launches of this kernel. The first call logs the analysis of
  // its code.
  bool wanted(std::string_view kernel);
  // Returns the maps in the parameters as the GPU gets them, sorted by offset. Call it only for kernels that are
  // wanted().
  std::vector<MapParameter> find(const std::vector<unsigned char>& parameters);

  // Returns whether this thread is encoding maps to learn the layout: such calls are not the program's.
  static bool is_own_call();

 private:
  struct Hash {
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    using is_transparent = void;
  };
  struct BytesHash {
    std::size_t operator()(const MapBytes& bytes) const {
      return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
  };

  void learn();
  std::optional<TensorMap> decode(const MapBytes& bytes);

  std::shared_mutex mutex_;  // guards the members below
  // By kernel: its code, one entry for each different code of that name; empty after it was written to the log.
  std::unordered_map<std::string, std::vector<std::string>, Hash, std::equal_to<>> code_;
  std::unordered_set<std::string, Hash, std::equal_to<>> said_;
  bool other_architectures_ = false;  // modules whose code this program does not read
  std::unordered_map<MapBytes, TensorMap, BytesHash> encoded_;
  std::once_flag learned_;
  std::optional<MapLayout> layout_;
  bool distrusted_ = false;
};

}  // namespace uvmtrace
