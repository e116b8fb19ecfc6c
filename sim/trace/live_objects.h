// SPDX-License-Identifier: Apache-2.0
// The objects and tensors that are alive at one point of a trace.
#pragma once

#include <boost/icl/closed_interval.hpp>
#include <boost/icl/interval_set.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>

#include "sim/trace/record.h"

namespace uvmsim::trace {

// A set of ids, which stays small when ids come roughly in sequence, as recorders number them.
class SeenIds {
 public:
  bool contains(ObjectId id) const { return boost::icl::contains(runs_, id); }
  bool insert(ObjectId id) {  // returns false when it was there already
    if (contains(id)) return false;
    runs_.add(id);
    return true;
  }

 private:
  boost::icl::interval_set<ObjectId, std::less, boost::icl::closed_interval<ObjectId>> runs_;
};

struct LiveObject {
  std::uint64_t bytes = 0;
  std::uint64_t va = 0;
  ObjectId parent = kNoObject;    // of a tensor: the object that contains it
  std::uint64_t tensors = 0;      // of an object: live tensors in it
  std::uint64_t last_kernel = 0;  // number of the last record that named it
  bool is_tensor = false;
  bool is_managed = false;  // of an object
};

class LiveObjects {
 public:
  // These throw InputError (without the place) for the cases that validate.h lists under "objects".
  void allocate(const ObjectAlloc& object);
  void allocate(const TensorAlloc& tensor);
  void release(const ObjectFree& object);
  void release(const TensorFree& tensor);

  // Returns the live object or tensor; throws InputError when it was never allocated or is freed.
  LiveObject& require(ObjectId id);

 private:
  LiveObject& add(ObjectId id, std::uint64_t bytes);
  static void require_addresses(std::string_view what, ObjectId id, std::uint64_t bytes, std::uint64_t taken);
  void check_address_free(const ObjectAlloc& object) const;
  [[noreturn]] void refuse_missing(ObjectId id) const;

  std::unordered_map<ObjectId, LiveObject> live_;  // only looked up, never walked
  std::map<std::uint64_t, ObjectId> by_address_;   // live objects with a recorded address
  SeenIds seen_;
  std::uint64_t managed_bytes_ = 0, tensor_bytes_ = 0;  // of live ones
};

}  // namespace uvmsim::trace
