#include "sim/engine/program_future.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "sim/common/error.h"
#include "sim/engine/calls.h"
#include "sim/engine/kernel_work.h"
#include "sim/engine/record_feed.h"
#include "sim/layout/layout.h"
#include "sim/layout/segments.h"

namespace uvmsim::engine {

namespace {

// Follows Engine::issue: the same layout, so the same addresses.
class FutureReader {
 public:
  FutureReader(const trace::Header& header, const RunOptions& options, std::uint64_t capacity_bytes,
               std::uint64_t content_bytes)
      : header_(header),
        options_(options),
        capacity_bytes_(capacity_bytes),
        content_bytes_(content_bytes),
        space_(static_cast<unsigned>(options.system.gpus.size())),
        layout_(options.layout, space_) {}

  void add(const trace::Record& record, bool is_segment, std::uint64_t number);
  policy::Future finish() {
    future_.finish();
    return std::move(future_);
  }

 private:
  struct Use {
    std::uint64_t progress;  // of its operand, as a fraction of 2^32
    std::uint64_t content;
  };

  void add_kernel(const trace::Kernel& kernel);
  void add_section(const Section& section);
  void release();

  const trace::Header& header_;
  const RunOptions& options_;
  std::uint64_t capacity_bytes_, content_bytes_;
  AddressSpace space_;
  layout::Layout layout_;
  std::uint64_t number_ = 0;  // of the record in hand
  std::vector<Use> uses_;
  std::vector<policy::ContentIndex> released_;
  policy::Future future_;
};

void FutureReader::add_section(const Section& section) {
  uses_.clear();
  const std::uint64_t pages_per_content = content_bytes_ / kBasePageBytes;
  for (const Operand& operand : section.operands) {
    for (const Segment& segment : operand.segments) {
      const std::uint64_t begin = segment.block.value * kPagesPerBlock + segment.first;
      for (std::uint64_t page = begin; page < begin + segment.count;) {
        const std::uint64_t progress = ((segment.ordinal + page - begin) << 32) / operand.pages;
        uses_.push_back({progress, page / pages_per_content});
        page = (page / pages_per_content + 1) * pages_per_content;
      }
    }
  }
  std::stable_sort(uses_.begin(), uses_.end(), [](const Use& a, const Use& b) { return a.progress < b.progress; });
  for (const Use& use : uses_) future_.add_use(policy::ContentIndex(use.content));
}

void FutureReader::add_kernel(const trace::Kernel& kernel) {
  // The engine will say so when it gets there.
  if (kernel.device < 0 || static_cast<std::size_t>(kernel.device) >= options_.system.gpus.size()) return;
  const KernelWork work = plan_kernel(kernel, header_.quantum_bytes, layout_, space_, options_.system, capacity_bytes_);
  future_.add_operation(number_);
  for (const PageRef& page : work.touches) {
    future_.add_use(policy::ContentIndex(page.index() * kBasePageBytes / content_bytes_));
  }
  for (const Section& section : work.sections) add_section(section);
}

// What the layout gave back to the driver.
void FutureReader::release() {
  future_.add_free(number_, released_);
  released_.clear();
}

void FutureReader::add(const trace::Record& record, bool is_segment, std::uint64_t number) {
  number_ = number;
  const auto note = [&](BlockIndex block) {
    const std::uint64_t contents = kBlockBytes / content_bytes_;
    for (std::uint64_t i = 0; i < contents; ++i) released_.emplace_back(block.value * contents + i);
  };
  const auto drop_released = [&] {
    layout_.drop_released(note);
    release();
  };
  drop_released();
  layout_.follow(record);
  if (layout_.has_empty_segments()) {
    layout::for_each_touched(record, [&](trace::ObjectId id) { layout_.touch(id); });
  }
  if (const auto* kernel = std::get_if<trace::Kernel>(&record)) {
    add_kernel(*kernel);
  } else if (const auto* set = std::get_if<trace::Memset>(&record)) {
    add_kernel(kernel_of(*set, layout_, header_.quantum_bytes, options_.system));
  } else if (const auto* copy = std::get_if<trace::Memcpy>(&record)) {
    add_kernel(kernel_of(*copy, layout_, header_.quantum_bytes, options_.system));
  } else if (const auto* object = std::get_if<trace::ObjectAlloc>(&record)) {
    layout_.allocate(*object, is_segment);
  } else if (const auto* tensor = std::get_if<trace::TensorAlloc>(&record)) {
    layout_.allocate(*tensor);
    drop_released();
  } else if (const auto* freed = std::get_if<trace::ObjectFree>(&record)) {
    layout_.free(freed->id, note);
    release();
    drop_released();
  } else if (const auto* tensor_freed = std::get_if<trace::TensorFree>(&record)) {
    const layout::Placement& placement = layout_.find(tensor_freed->id);
    const bool owns = placement.owns && (placement.managed || placement.device);
    layout_.free_tensor(tensor_freed->id, note);
    if (!owns) layout_.forget(tensor_freed->id);
    release();
  }
}

}  // namespace

policy::Future read_future(const trace::Header& header, const RecordSource& source, const RunOptions& options,
                           std::uint64_t capacity_bytes, std::uint64_t content_bytes) {
  RecordFeed feed(header, source, options);
  FutureReader reader(header, options, capacity_bytes, content_bytes);
  trace::Record record;
  for (std::uint64_t number = 1; feed.next(record); ++number) {
    try {
      reader.add(record, feed.is_segment(), number);
    } catch (const InputError& error) {
      throw_input_error("record {}: {}", feed.number(), error.what());
    }
  }
  return reader.finish();
}

}  // namespace uvmsim::engine
