// SPDX-License-Identifier: Apache-2.0
// Contents that left GPU memory and that an evictor remembers ("ghosts"): a queue, oldest first, with look-up.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sim/policy/policy.h"

namespace uvmsim::policy {

struct NoNote {};

// Each content is in the queue at most once, with a note of the policy. The list hashes and allocates, and is therefore
// for evictions and misses rather than hits. Nothing depends on the order of the hash table.
template <class Note = NoNote>
class GhostList {
 public:
  // Keeps at most `limit` contents and forgets the oldest; 0 remembers nothing.
  explicit GhostList(std::size_t limit) : limit_(limit) {}

  std::size_t size() const { return queue_.size(); }
  bool contains(ContentIndex content) const { return ghosts_.count(content.value) != 0; }

  // Moves the content to the end of the queue.
  void push(ContentIndex content, Note note = {}) {
    take(content);
    queue_.push_back({content.value, std::move(note)});
    ghosts_.emplace(content.value, std::prev(queue_.end()));
    if (size() > limit_) drop_oldest();
  }
  // Removes the content and returns its note; nothing when it is not in the queue.
  std::optional<Note> take(ContentIndex content) {
    const auto found = ghosts_.find(content.value);
    if (found == ghosts_.end()) return std::nullopt;
    Note note = std::move(found->second->note);
    queue_.erase(found->second);
    ghosts_.erase(found);
    return note;
  }

  // Requires a list that is not empty.
  const Note& oldest() const { return queue_.front().note; }
  void drop_oldest() {
    ghosts_.erase(queue_.front().content);
    queue_.pop_front();
  }

 private:
  struct Ghost {
    std::uint64_t content;
    Note note;
  };

  std::size_t limit_;
  std::list<Ghost> queue_;
  std::unordered_map<std::uint64_t, typename std::list<Ghost>::iterator> ghosts_;
};

}  // namespace uvmsim::policy
