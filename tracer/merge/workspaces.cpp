// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/workspaces.h"

#include <algorithm>
#include <boost/icl/interval_set.hpp>
#include <map>
#include <set>

#include "tracer/merge/coverage.h"
#include "tracer/merge/resolve.h"

namespace uvmtrace {

namespace {

using Quanta = boost::icl::interval_set<std::uint64_t>;
using Interval = Quanta::interval_type;

bool reads(trace::AccessMode mode) { return mode != trace::AccessMode::kWrite; }
bool writes(trace::AccessMode mode) { return mode != trace::AccessMode::kRead; }

Interval interval_of(const trace::Extent& extent) {
  return Interval::right_open(extent.first, extent.first + extent.count);
}

Interval interval_of_bytes(std::uint64_t offset, std::uint64_t bytes) {
  return Interval::right_open(offset / kQuantumBytes, (offset + bytes - 1) / kQuantumBytes + 1);
}

template <class Wanted>
Quanta quanta_of(const trace::ExtentList& extents, Wanted&& wanted) {
  Quanta out;
  for (const trace::Extent& extent : extents) {
    if (wanted(extent.mode)) out += interval_of(extent);
  }
  return out;
}

std::uint64_t bytes_of(const Quanta& quanta) { return boost::icl::cardinality(quanta) * kQuantumBytes; }

// Returns whether the kernel's accesses are a guess. Kernels with phases, touches, order or counts are left out: their
// slots would no longer fit, and their accesses were seen.
bool is_guess(const trace::Kernel& kernel) {
  const bool told =
      kernel.coverage == trace::Coverage::kOperatorSchema || kernel.coverage == trace::Coverage::kParameters;
  return told && kernel.phases.empty() && kernel.touches.empty() && kernel.order.empty() && kernel.counts.empty();
}

struct Use {
  std::size_t kernel = 0;  // its position in the records
  Quanta quanta;
};

struct Tensor {
  std::size_t made = 0;
  std::uint64_t quanta = 0;
  Quanta written, read;
  std::vector<Use> writers;         // kernels, in order
  std::vector<std::size_t> claims;  // guessed kernels that only write it according to their operator
  bool whole(const Quanta& part) const { return boost::icl::cardinality(part) >= quanta; }
};

Quanta by_kernels(const Tensor& tensor) {
  Quanta out;
  for (const Use& writer : tensor.writers) out += writer.quanta;
  return out;
}

class Completion {
 public:
  explicit Completion(std::vector<trace::Record>& records) : records_(records) {}

  WorkspaceSummary run() {
    for (std::size_t place = 0; place < records_.size(); ++place) {
      if (const auto* made = std::get_if<trace::TensorAlloc>(&records_[place])) {
        tensors_[made->id] = {place, (made->bytes + kQuantumBytes - 1) / kQuantumBytes, {}, {}, {}, {}};
      } else if (const auto* freed = std::get_if<trace::TensorFree>(&records_[place])) {
        tensors_.erase(freed->id);
      } else if (const auto* set = std::get_if<trace::Memset>(&records_[place])) {
        write_bytes(set->object, set->offset, set->bytes);
      } else if (const auto* copy = std::get_if<trace::Memcpy>(&records_[place])) {
        read_bytes(copy->src.object, copy->src.offset, copy->bytes);
        write_bytes(copy->dst.object, copy->dst.offset, copy->bytes);
      } else if (auto* kernel = std::get_if<trace::Kernel>(&records_[place])) {
        is_guess(*kernel) ? guess(place, *kernel) : see(place, *kernel);
      }
    }
    summary_.kernels = changed_.size();
    return summary_;
  }

 private:
  trace::Kernel& kernel_at(std::size_t place) { return std::get<trace::Kernel>(records_[place]); }

  Tensor* tensor(trace::ObjectId id) {
    const auto found = tensors_.find(id);
    return found == tensors_.end() ? nullptr : &found->second;
  }

  void read_bytes(trace::ObjectId id, std::uint64_t offset, std::uint64_t bytes) {
    if (Tensor* source = tensor(id); source != nullptr && bytes != 0) {
      source->read += interval_of_bytes(offset, bytes);
      source->claims.clear();
    }
  }

  void write_bytes(trace::ObjectId id, std::uint64_t offset, std::uint64_t bytes) {
    if (Tensor* target = tensor(id); target != nullptr && bytes != 0) {
      target->written += interval_of_bytes(offset, bytes);
    }
  }

  void guess(std::size_t place, trace::Kernel& kernel) {
    for (std::size_t slot = kernel.accesses.size(); slot-- > 0;) {
      Tensor* operand = tensor(kernel.accesses[slot].object);
      if (operand == nullptr) continue;
      const Quanta read = quanta_of(kernel.accesses[slot].extents, reads);
      const Quanta written = quanta_of(kernel.accesses[slot].extents, writes);
      if (read.empty() && operand->read.empty() && operand->whole(by_kernels(*operand))) {
        remove(place, slot);  // another kernel's output
        continue;
      }
      if (read.empty()) {
        operand->claims.push_back(place);
      } else {
        operand->claims.clear();
      }
      operand->read += read;
      operand->written += written;
      operand->writers.push_back({place, written});
    }
    guesses_[kernel.stream].push_back(place);
  }

  void see(std::size_t place, const trace::Kernel& kernel) {
    std::set<std::size_t> partners;  // guessed kernels that wrote data which this kernel reads
    for (const trace::ObjectAccess& access : kernel.accesses) {
      if (Tensor* operand = tensor(access.object)) take_from(*operand, access, kernel.stream, partners);
    }
    for (const trace::ObjectAccess& access : kernel.accesses) {
      if (Tensor* operand = tensor(access.object)) give_to(place, *operand, access, partners);
    }
  }

  void take_from(Tensor& operand, const trace::ObjectAccess& access, std::uint32_t stream,
                 std::set<std::size_t>& partners) {
    const Quanta only_read = quanta_of(access.extents, [](trace::AccessMode mode) { return !writes(mode); });
    const Quanta unwritten = only_read - operand.written;
    const std::vector<std::size_t>& guesses = guesses_[stream];
    if (bytes_of(unwritten) >= kPageBytes && !guesses.empty() && guesses.back() > operand.made) {
      hand_over(access.object, operand, unwritten, guesses);
      partners.insert(guesses.back());
    }
    operand.read += quanta_of(access.extents, reads);
    if (!operand.read.empty()) operand.claims.clear();
  }

  // Completes the accesses to a workspace: the last guessed kernel wrote `unwritten` of it, and the guessed kernels
  // before that read its data.
  void hand_over(trace::ObjectId id, Tensor& workspace, const Quanta& unwritten,
                 const std::vector<std::size_t>& guesses) {
    const auto first = std::upper_bound(guesses.begin(), guesses.end(), workspace.made);
    std::set<trace::ObjectId> handed;
    for (const Use& writer : workspace.writers) {
      const Quanta unread = writer.quanta - workspace.read;
      const auto reader = std::upper_bound(first, guesses.end(), writer.kernel);
      if (reader == guesses.end() || unread.empty() || is_guess(kernel_at(writer.kernel))) continue;
      add(*reader, id, unread, trace::AccessMode::kRead);
      workspace.read += unread;
      for (const trace::ObjectAccess& access : kernel_at(writer.kernel).accesses) {
        const Tensor* source = access.object == id ? nullptr : tensor(access.object);
        if (source != nullptr && source->whole(quanta_of(access.extents, reads))) handed.insert(access.object);
      }
    }
    add(guesses.back(), id, unwritten, trace::AccessMode::kWrite);
    workspace.written += unwritten;
    std::for_each(first, guesses.end(), [&](std::size_t place) { remove_reads(place, handed); });
  }

  void give_to(std::size_t place, Tensor& operand, const trace::ObjectAccess& access,
               const std::set<std::size_t>& partners) {
    const Quanta written = quanta_of(access.extents, writes);
    if (written.empty()) return;
    if (operand.whole(written)) {
      for (const std::size_t claim : operand.claims) {
        if (partners.contains(claim)) remove(claim, slot_of(claim, access.object));
      }
    }
    operand.claims.clear();
    operand.written += written;
    operand.writers.push_back({place, written});
  }

  std::size_t slot_of(std::size_t place, trace::ObjectId id) {
    const auto& accesses = kernel_at(place).accesses;
    return static_cast<std::size_t>(
        std::find_if(accesses.begin(), accesses.end(),
                     [id](const trace::ObjectAccess& access) { return access.object == id; }) -
        accesses.begin());
  }

  void remove_reads(std::size_t place, const std::set<trace::ObjectId>& handed) {
    for (const trace::ObjectId id : handed) {
      const std::size_t slot = slot_of(place, id);
      const auto& accesses = kernel_at(place).accesses;
      if (slot != accesses.size() && quanta_of(accesses[slot].extents, writes).empty()) remove(place, slot);
    }
  }

  void remove(std::size_t place, std::size_t slot) {
    auto& accesses = kernel_at(place).accesses;
    summary_.removed_bytes += bytes_of(quanta_of(accesses[slot].extents, [](trace::AccessMode) { return true; }));
    accesses.erase(accesses.begin() + static_cast<std::ptrdiff_t>(slot));
    changed_.insert(place);
  }

  void add(std::size_t place, trace::ObjectId id, const Quanta& quanta, trace::AccessMode mode) {
    std::vector<trace::Extent> extents;
    for (const Interval& part : quanta) extents.push_back({part.lower(), part.upper() - part.lower(), mode});
    auto& accesses = kernel_at(place).accesses;
    const std::size_t slot = slot_of(place, id);
    if (slot != accesses.size()) {
      const trace::ExtentList& known = accesses[slot].extents;
      accesses[slot].extents = unite({known.begin(), known.end()}, extents);
    } else {
      const auto behind = std::find_if(accesses.begin(), accesses.end(),
                                       [id](const trace::ObjectAccess& access) { return access.object > id; });
      accesses.insert(behind, {id, std::move(extents)});
    }
    summary_.added_bytes += bytes_of(quanta);
    changed_.insert(place);
  }

  std::vector<trace::Record>& records_;
  WorkspaceSummary summary_;
  std::map<trace::ObjectId, Tensor> tensors_;                  // live ones
  std::map<std::uint32_t, std::vector<std::size_t>> guesses_;  // by stream: places, ascending
  std::set<std::size_t> changed_;
};

}  // namespace

WorkspaceSummary complete_workspaces(std::vector<trace::Record>& records) { return Completion(records).run(); }

}  // namespace uvmtrace
