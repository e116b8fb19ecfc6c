// SPDX-License-Identifier: Apache-2.0
// A list that copies share until one of them edits it. Kernels of a recording repeat, and their extents and phases take
// most of its memory; a ListPool finds the equal list of another kernel.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace uvmsim::trace {

template <class Item>
class SharedList {
 public:
  using value_type = Item;

  SharedList() = default;
  SharedList(std::vector<Item> items) : list_(make(std::move(items))) {}
  SharedList(std::initializer_list<Item> items) : SharedList(std::vector<Item>(items)) {}

  bool empty() const { return size() == 0; }
  std::size_t size() const { return list_ == nullptr ? 0 : list_->size(); }
  const Item* begin() const { return list_ == nullptr ? nullptr : list_->data(); }
  const Item* end() const { return begin() + size(); }
  const Item& operator[](std::size_t i) const { return (*list_)[i]; }
  const Item& front() const { return list_->front(); }
  const Item& back() const { return list_->back(); }
  operator const std::vector<Item>&() const {
    static const std::vector<Item> kNone;
    return list_ == nullptr ? kNone : *list_;
  }

  void clear() { list_.reset(); }
  // Returns the list for changes, and makes it this object's own. Valid until this one is copied, changed or destroyed.
  std::vector<Item>& edit() {
    if (list_ == nullptr) {
      list_ = std::make_shared<std::vector<Item>>();
    } else if (list_.use_count() != 1) {
      list_ = std::make_shared<std::vector<Item>>(*list_);
    }
    return *list_;
  }
  void push_back(const Item& item) { edit().push_back(item); }
  // Identifies the storage of the list; nullptr for an empty one.
  const void* identity() const { return list_.get(); }

 private:
  template <class>
  friend class ListPool;
  static std::shared_ptr<std::vector<Item>> make(std::vector<Item>&& items) {
    return items.empty() ? nullptr : std::make_shared<std::vector<Item>>(std::move(items));
  }

  std::shared_ptr<std::vector<Item>> list_;
};

}  // namespace uvmsim::trace
