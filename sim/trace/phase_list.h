// The phases of a kernel: a list that copies share until one of them edits it. Kernels of a recording repeat, and their
// phases take most of its memory; a PhasePool finds the list that another kernel has already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace uvmsim::trace {

enum class AccessMode : std::uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3 };

// [first, first + count) in quanta of one object.
struct Extent {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  AccessMode mode = AccessMode::kRead;
  bool operator==(const Extent&) const = default;
};

// A slice of the linear block index [first_block, first_block + block_count) and what those blocks touch.
// Slots index Kernel::accesses; extents are subsets of it (so a page may appear in many phases).
struct PhaseAccess {
  std::uint32_t slot = 0;
  std::vector<Extent> extents;
  bool operator==(const PhaseAccess&) const = default;
};
struct Phase {
  std::uint64_t first_block = 0;
  std::uint64_t block_count = 0;
  std::vector<PhaseAccess> accesses;
  bool operator==(const Phase&) const = default;
};

class PhaseList {
 public:
  PhaseList() = default;
  PhaseList(std::vector<Phase> phases) : list_(make(std::move(phases))) {}
  PhaseList(std::initializer_list<Phase> phases) : PhaseList(std::vector<Phase>(phases)) {}

  bool empty() const { return size() == 0; }
  std::size_t size() const { return list_ == nullptr ? 0 : list_->size(); }
  const Phase* begin() const { return list_ == nullptr ? nullptr : list_->data(); }
  const Phase* end() const { return begin() + size(); }
  const Phase& operator[](std::size_t i) const { return (*list_)[i]; }
  const Phase& back() const { return list_->back(); }

  void clear() { list_.reset(); }
  // The list to change; no other kernel's from now on. Valid until this PhaseList is copied, changed or destroyed.
  std::vector<Phase>& edit() {
    if (list_ == nullptr) {
      list_ = std::make_shared<std::vector<Phase>>();
    } else if (list_.use_count() != 1) {
      list_ = std::make_shared<std::vector<Phase>>(*list_);
    }
    return *list_;
  }
  // Tells lists apart by where they are kept; nullptr for an empty one.
  const void* identity() const { return list_.get(); }

 private:
  friend class PhasePool;
  static std::shared_ptr<std::vector<Phase>> make(std::vector<Phase>&& phases) {
    return phases.empty() ? nullptr : std::make_shared<std::vector<Phase>>(std::move(phases));
  }

  std::shared_ptr<std::vector<Phase>> list_;
};

}  // namespace uvmsim::trace
