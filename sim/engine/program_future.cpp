// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/program_future.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <variant>
#include <vector>

#include "sim/common/error.h"
#include "sim/config/coherence.h"
#include "sim/engine/calls.h"
#include "sim/engine/kernel_work.h"
#include "sim/engine/record_feed.h"
#include "sim/layout/layout.h"

namespace uvmsim::engine {

namespace {

// Follows HostThread::issue() with the same layout, so that addresses are the same.
class FutureReader {
 public:
  FutureReader(const trace::Header& header, const RunOptions& options, std::uint64_t capacity_bytes,
               std::uint64_t content_bytes)
      : header_(header),
        options_(options),
        capacity_bytes_(capacity_bytes),
        content_bytes_(content_bytes),
        space_(static_cast<unsigned>(options.system.gpus.size())),
        layout_(options.layout, space_, 0, config::reaches_system_memory(options.system)) {}

  void add(const trace::Record& record, bool is_segment, std::uint64_t number);
  policy::Future finish() {
    future_.finish();
    return std::move(future_);
  }
  std::vector<policy::FutureKernel> finish_kernels() { return std::move(kernels_); }

 private:
  struct Use {
    std::uint64_t progress;  // of its operand, as a fraction of 2^32
    std::uint64_t content;
  };

  void add_kernel(const trace::Kernel& kernel);
  void add_copy(const trace::Kernel& copy) {  // a copy without managed memory is no operation
    if (!copy.accesses.empty()) add_kernel(copy);
  }
  void add_section(const Section& section);
  void note_kernel(const trace::Kernel& kernel);
  void release();

  const trace::Header& header_;
  const RunOptions& options_;
  std::uint64_t capacity_bytes_, content_bytes_;
  AddressSpace space_;
  layout::Layout layout_;
  std::uint64_t number_ = 0;  // of the current record
  std::vector<Use> uses_;
  std::vector<policy::ContentIndex> released_;
  policy::Future future_;
  std::unordered_map<trace::ObjectId, std::uint64_t> numbers_;  // of live objects that kernels used
  std::uint64_t next_number_ = 0;
  std::vector<std::uint64_t> walk_;  // contents of the current kernel, in the order of its uses
  std::vector<policy::FutureKernel> kernels_;
};

void FutureReader::add_section(const Section& section) {
  uses_.clear();
  const std::uint64_t pages_per_content = content_bytes_ / kBasePageBytes;
  for (const Operand& operand : section.operands) {
    operand.for_each_segment([&](const Segment& segment) {
      space_.block(segment.block);  // gives the block state, which release() needs
      const std::uint64_t begin = segment.block.value * kPagesPerBlock + segment.first;
      for (std::uint64_t page = begin; page < begin + segment.count;) {
        const std::uint64_t progress = ((segment.ordinal + page - begin) << 32) / operand.pages;
        uses_.push_back({progress, page / pages_per_content});
        page = (page / pages_per_content + 1) * pages_per_content;
      }
    });
  }
  std::stable_sort(uses_.begin(), uses_.end(), [](const Use& a, const Use& b) { return a.progress < b.progress; });
  for (const Use& use : uses_) {
    future_.add_use(policy::ContentIndex(use.content));
    walk_.push_back(use.content);
  }
}

void FutureReader::add_kernel(const trace::Kernel& kernel) {
  // The engine reports this error when it reaches the kernel.
  if (kernel.device < 0 || static_cast<std::size_t>(kernel.device) >= options_.system.gpus.size()) return;
  constexpr std::uint64_t kNoImages = 0;  // the pages touched do not depend on it
  const KernelWork work =
      plan_kernel(kernel, header_.quantum_bytes, layout_, &space_, options_.system, capacity_bytes_, kNoImages);
  future_.add_operation(number_);
  walk_.clear();
  for (const PageRef& page : work.touches) {
    space_.block(page.block);  // gives the block state, which release() needs
    walk_.push_back(page.index() * kBasePageBytes / content_bytes_);
    future_.add_use(policy::ContentIndex(walk_.back()));
  }
  for (const Section& section : work.sections) add_section(section);
  if (content_bytes_ == kBlockBytes) note_kernel(kernel);
}

// Notes the kernel's walk, with the objects that it uses in each block.
void FutureReader::note_kernel(const trace::Kernel& kernel) {
  const std::set<std::uint64_t> walked(walk_.begin(), walk_.end());
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> objects_in;  // block
  for (const trace::ObjectAccess& access : kernel.accesses) {
    const auto [known, fresh] = numbers_.try_emplace(access.object, next_number_);
    if (fresh) ++next_number_;
    const std::uint64_t number = known->second;
    const layout::BlockList& blocks = layout_.find(access.object).blocks;
    blocks.for_each_run([&](const layout::BlockList::Run& run) {
      const std::uint64_t end = run.first.value + run.count;
      for (auto used = walked.lower_bound(run.first.value); used != walked.end() && *used < end; ++used) {
        objects_in[*used].push_back(number);
      }
    });
  }
  policy::FutureKernel& noted = kernels_.emplace_back(policy::FutureKernel{Nanoseconds(kernel.duration_ns)});
  for (const std::uint64_t block : walk_) {
    const auto objects = objects_in.find(block);
    if (objects == objects_in.end()) continue;  // noted already
    for (const std::uint64_t object : objects->second) noted.uses.push_back({BlockIndex(block), object});
    objects_in.erase(objects);
  }
}

// Adds the free of all contents that the layout gave back to the driver.
void FutureReader::release() {
  future_.add_free(number_, released_);
  released_.clear();
}

void FutureReader::add(const trace::Record& record, bool is_segment, std::uint64_t number) {
  number_ = number;
  const auto note = [&](BlockIndex first, std::uint64_t count) {
    const std::uint64_t contents = kBlockBytes / content_bytes_;
    // The first content is always added, as the free has a place in the sequence; the others only if something used
    // them.
    released_.emplace_back(first.value * contents);
    space_.for_each_used(first, count, [&](BlockIndex block) {
      for (std::uint64_t i = block == first ? 1 : 0; i < contents; ++i) {
        released_.emplace_back(block.value * contents + i);
      }
    });
  };
  const auto drop_released = [&] {
    layout_.drop_released(note);
    release();
  };
  drop_released();
  layout_.follow(record);
  if (const auto* kernel = std::get_if<trace::Kernel>(&record)) {
    add_kernel(*kernel);
  } else if (const auto* set = std::get_if<trace::Memset>(&record)) {
    add_copy(kernel_of(*set, layout_, header_.quantum_bytes, options_.system));
  } else if (const auto* copy = std::get_if<trace::Memcpy>(&record)) {
    add_copy(kernel_of(*copy, layout_, header_.quantum_bytes, options_.system));
  } else if (const auto* object = std::get_if<trace::ObjectAlloc>(&record)) {
    layout_.allocate(*object, is_segment);
  } else if (const auto* tensor = std::get_if<trace::TensorAlloc>(&record)) {
    layout_.allocate(*tensor);
    drop_released();
  } else if (const auto* freed = std::get_if<trace::ObjectFree>(&record)) {
    layout_.free(freed->id, note);
    numbers_.erase(freed->id);
    release();
    drop_released();
  } else if (const auto* tensor_freed = std::get_if<trace::TensorFree>(&record)) {
    const layout::Placement& placement = layout_.find(tensor_freed->id);
    const bool owns = placement.owns && (placement.managed || placement.device);
    layout_.free_tensor(tensor_freed->id, note);
    numbers_.erase(tensor_freed->id);
    if (!owns) layout_.forget(tensor_freed->id);
    release();
  }
}

void read(FutureReader& reader, const trace::Header& header, const RecordSource& source, const RunOptions& options) {
  RecordFeed feed(header, source, options);
  std::uint64_t number = 0;
  feed.for_each([&](const trace::Record& record) { reader.add(record, feed.is_segment(), ++number); });
}

}  // namespace

policy::Future read_future(const trace::Header& header, const RecordSource& source, const RunOptions& options,
                           std::uint64_t capacity_bytes, std::uint64_t content_bytes) {
  FutureReader reader(header, options, capacity_bytes, content_bytes);
  read(reader, header, source, options);
  return reader.finish();
}

policy::KernelFuture read_kernel_future(const trace::Header& header, const RecordSource& source,
                                        const RunOptions& options, std::uint64_t capacity_bytes) {
  FutureReader reader(header, options, capacity_bytes, kBlockBytes);
  read(reader, header, source, options);
  const config::LinkConfig& link = options.system.host_links.front();
  return {reader.finish_kernels(), static_cast<std::uint32_t>(capacity_bytes / kBlockBytes),
          link.host_to_device.bytes_per_us, link.device_to_host.bytes_per_us,
          Nanoseconds(static_cast<std::int64_t>(link.host_to_device.latency_ns))};
}

}  // namespace uvmsim::engine
