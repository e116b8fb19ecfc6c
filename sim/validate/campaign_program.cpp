// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/campaign_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "sim/common/random.h"
#include "sim/common/units.h"
#include "sim/import/access_set.h"
#include "sim/validate/page_lists.h"

namespace uvmsim::validate {

namespace {

constexpr std::uint32_t kQuantumBytes = 512;
constexpr std::uint64_t kQuantaPerPage = kBasePageBytes / kQuantumBytes;
constexpr std::uint32_t kGridBlocks = 256, kBlockThreads = 256;
constexpr trace::ObjectId kArray = 1;
constexpr std::uint32_t kWordBytes = 4;
constexpr std::uint64_t kSectorBytes = 32;  // moved between L2 and memory by an access of one word

std::uint64_t quanta(std::uint64_t bytes) { return (bytes + kQuantumBytes - 1) / kQuantumBytes; }

trace::ObjectAccess access(trace::ObjectId id, std::uint64_t begin, std::uint64_t end, trace::AccessMode mode) {
  const std::uint64_t first = begin / kQuantumBytes;
  return {id, {trace::Extent{first, quanta(end) - first, mode}}};
}
trace::ObjectAccess whole(trace::ObjectId id, std::uint64_t bytes, trace::AccessMode mode) {
  return access(id, 0, bytes, mode);
}

// Blocks of 256 threads, a word each, as many as a grid's other dimensions may have.
std::uint64_t blocks_of_words(std::uint64_t bytes) {
  constexpr std::uint64_t kMostBlocks = 65535;
  return std::min((bytes / kWordBytes + kBlockThreads - 1) / kBlockThreads, kMostBlocks);
}

// The columns from some page of a row on, in all rows of a matrix.
std::vector<trace::Extent> columns_of_page(std::uint64_t rows, std::uint64_t row_bytes, std::uint64_t begin,
                                           std::uint64_t end, trace::AccessMode mode) {
  std::vector<trace::Extent> extents;
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t first = (row * row_bytes + begin) / kQuantumBytes;
    trace::append_extent(extents, {first, quanta(row * row_bytes + end) - first, mode});
  }
  return extents;
}

}  // namespace

CampaignProgram::CampaignProgram(const std::string& name, const Campaign& campaign, const config::GpuConfig& gpu)
    : campaign_(campaign), gpu_(gpu) {
  header_.quantum_bytes = kQuantumBytes;
  header_.tool = "uvmsim validate";
  header_.program = name;
  // In the order of CampaignProgramKind.
  constexpr std::array kAdd = {
      &CampaignProgram::add_sparse_blocks, &CampaignProgram::add_slice_scans,    &CampaignProgram::add_accumulate,
      &CampaignProgram::add_page_walk,     &CampaignProgram::add_layer_products, &CampaignProgram::add_memory_passes,
      &CampaignProgram::add_phase_scan,    &CampaignProgram::add_vector_add,     &CampaignProgram::add_matrix_vector,
      &CampaignProgram::add_convolution,   &CampaignProgram::add_gram_schmidt};
  (this->*kAdd.at(static_cast<std::size_t>(campaign.program)))();
}

bool CampaignProgram::next(trace::Record& record) {
  if (next_ == records_.size()) return false;
  record = records_[next_++]();
  return true;
}

void CampaignProgram::add(trace::Record record) {
  records_.emplace_back([record = std::move(record)] { return record; });
}

void CampaignProgram::allocate(trace::ObjectId id, std::uint64_t bytes, trace::ObjectKind kind) {
  trace::ObjectAlloc array;
  array.kind = kind;
  array.id = id;
  array.bytes = bytes;
  add(array);
}

void CampaignProgram::host_writes(trace::ObjectId id, std::uint64_t bytes, trace::AccessMode mode) {
  trace::HostAccess written;
  written.object = id;
  written.extents.push_back({0, quanta(bytes), mode});
  add(std::move(written));
}

void CampaignProgram::begin_step(std::string name) {
  add(trace::Sync{});
  add(trace::Range{trace::RangeKind::kIterationBegin, name, step_names_.size()});
  step_names_.push_back(std::move(name));
}

void CampaignProgram::end_step() {
  add(trace::Sync{});
  add(trace::Range{trace::RangeKind::kIterationEnd, step_names_.back(), step_names_.size() - 1});
}

std::int64_t CampaignProgram::duration_ns(std::uint64_t bytes, std::uint64_t bytes_per_us) const {
  const std::uint64_t rate = std::max<std::uint64_t>(bytes_per_us != 0 ? bytes_per_us : gpu_.memory_bytes_per_us, 1);
  return static_cast<std::int64_t>(static_cast<WideUnsigned>(bytes) * 1000 / rate);
}

void CampaignProgram::grid_stride(const std::string& name, std::uint64_t blocks, std::uint32_t bytes_per_access,
                                  std::int64_t duration_ns, std::vector<trace::ObjectAccess> accesses) {
  trace::Kernel kernel;
  kernel.name = name;
  kernel.grid.x = static_cast<std::uint32_t>(blocks);
  kernel.block.x = kBlockThreads;
  kernel.distribution = trace::Distribution::kGridStride;
  kernel.bytes_per_thread_access = bytes_per_access;
  kernel.duration_ns = duration_ns;
  kernel.accesses = std::move(accesses);
  add(std::move(kernel));
}

// One thread per listed word loads and stores it.
void CampaignProgram::add_sparse_blocks() {
  const std::uint64_t blocks = campaign_.array_bytes / kBlockBytes;
  const auto words = std::make_shared<const std::vector<SparseWord>>(
      sparse_words(blocks, static_cast<std::uint32_t>(campaign_.pages_per_block), campaign_.seed));
  allocate(kArray, campaign_.array_bytes);
  host_writes(kArray, campaign_.array_bytes);
  const auto pass = [words, duration = duration_ns(words->size() * 2 * kSectorBytes, 0)]() -> trace::Record {
    trace::Kernel kernel;
    kernel.name = "sparse_pass";
    kernel.grid.x = static_cast<std::uint32_t>((words->size() + kBlockThreads - 1) / kBlockThreads);
    kernel.block.x = kBlockThreads;
    kernel.distribution = trace::Distribution::kThreadChunk;
    kernel.bytes_per_thread_access = 4;
    kernel.duration_ns = duration;
    kernel.touches.reserve(2 * words->size());
    trace::AccessSet touched;
    for (const SparseWord& word : *words) {
      const std::uint64_t quantum = word.page * kQuantaPerPage + word.word * 4 / kQuantumBytes;
      kernel.touches.push_back({0, quantum, trace::AccessMode::kRead});
      kernel.touches.push_back({0, quantum, trace::AccessMode::kWrite});
      touched.add(kArray, quantum, quantum + 1, trace::AccessMode::kReadWrite);
    }
    kernel.accesses = touched.take();
    return kernel;
  };
  for (std::uint64_t i = 0; i < campaign_.steps; ++i) {
    begin_step(fmt::format("pass {}", i + 1));
    records_.emplace_back(pass);
    end_step();
  }
}

// Between its kernels the CPU clears and reads the sum, which every thread adds to when it ends: a page that moves back
// and forth. Its atomic additions come after all reads, so that they are a kernel of one block here.
void CampaignProgram::add_slice_scans() {
  constexpr trace::ObjectId sum = 2;
  constexpr std::uint64_t word_bytes = 4;
  allocate(kArray, campaign_.array_bytes);
  allocate(sum, sizeof(std::uint64_t));
  host_writes(kArray, campaign_.array_bytes);
  const std::uint64_t words = campaign_.array_bytes / word_bytes;
  for (std::uint64_t round = 0; round < campaign_.rounds; ++round) {
    for (std::uint64_t step = 0; step < campaign_.steps; ++step) {
      begin_step(fmt::format("{} {}", round == 0 ? "cold" : "repeat", step));
      host_writes(sum, sizeof(std::uint64_t));
      std::uint64_t end = campaign_.array_bytes;
      if (campaign_.growing) {
        const std::uint64_t begin = words * step / campaign_.steps * word_bytes;
        end = words * (step + 1) / campaign_.steps * word_bytes;
        grid_stride("write_range", kGridBlocks, word_bytes, duration_ns(end - begin, campaign_.write_bytes_per_us),
                    {access(kArray, begin, end, trace::AccessMode::kWrite)});
      }
      grid_stride("sum_range", kGridBlocks, word_bytes, duration_ns(end, campaign_.read_bytes_per_us),
                  {access(kArray, 0, end, trace::AccessMode::kRead)});
      trace::Kernel add_up;
      add_up.name = "sum_range: atomicAdd";
      add_up.block.x = 32;
      add_up.accesses.push_back(whole(sum, sizeof(std::uint64_t), trace::AccessMode::kReadWrite));
      add(std::move(add_up));
      add(trace::Sync{});
      add(trace::HostAccess{sum, {{0, 1, trace::AccessMode::kRead}}, {}, 0});
      end_step();
    }
  }
}

void CampaignProgram::add_accumulate() {
  constexpr std::uint32_t element_bytes = 8;
  const std::uint64_t bytes = campaign_.array_bytes;
  const trace::ObjectId out = 1, first = 2;
  for (trace::ObjectId id = out; id < first + campaign_.arrays; ++id) {
    allocate(id, bytes);
    host_writes(id, bytes);
  }
  const auto given_or = [](std::uint64_t given, std::int64_t ns) {
    return given != 0 ? static_cast<std::int64_t>(given) : ns;
  };
  const std::int64_t add_ns = given_or(campaign_.add_ns, duration_ns(3 * bytes, 0)),
                     clear_ns = given_or(campaign_.clear_ns, duration_ns(bytes, 0));
  for (std::uint64_t i = 0; i < campaign_.steps; ++i) {
    begin_step(fmt::format("iteration {}", i));
    for (trace::ObjectId id = first + campaign_.arrays; id-- > first;) {
      grid_stride("addArray", kGridBlocks, element_bytes, add_ns,
                  {whole(id, bytes, trace::AccessMode::kRead), whole(out, bytes, trace::AccessMode::kReadWrite)});
    }
    end_step();
    grid_stride("setArray", kGridBlocks, element_bytes, clear_ns, {whole(out, bytes, trace::AccessMode::kWrite)});
  }
}

void CampaignProgram::add_page_walk() {
  constexpr trace::ObjectId input = 1, output = 2;
  const std::uint64_t pages = campaign_.array_bytes / kBasePageBytes;
  const std::uint64_t threads = std::uint64_t{kGridBlocks} * kBlockThreads;
  const std::uint64_t share = (pages + threads - 1) / threads;
  allocate(input, campaign_.array_bytes);
  allocate(output, campaign_.array_bytes);
  host_writes(input, campaign_.array_bytes);
  trace::Kernel walk;
  walk.name = campaign_.random_order ? "random_walk" : "seq_stream";
  walk.grid.x = kGridBlocks;
  walk.block.x = kBlockThreads;
  walk.distribution = trace::Distribution::kThreadChunk;
  walk.duration_ns = static_cast<std::int64_t>(campaign_.page_ns * share);
  walk.accesses = {whole(input, pages * kBasePageBytes, trace::AccessMode::kRead),
                   whole(output, pages * kBasePageBytes, trace::AccessMode::kWrite)};
  const auto in_random_order = [walk, pages, share, seed = campaign_.seed]() -> trace::Record {
    trace::Kernel kernel = walk;
    kernel.touches.reserve(2 * (pages + share));
    for (const std::uint64_t page : random_walk(pages, share, seed)) {
      kernel.touches.push_back({0, page * kQuantaPerPage, trace::AccessMode::kRead});
      kernel.touches.push_back({1, page * kQuantaPerPage, trace::AccessMode::kWrite});
    }
    return kernel;
  };
  for (std::uint64_t i = 0; i < campaign_.steps; ++i) {
    begin_step(fmt::format("launch {}", i + 1));
    if (campaign_.random_order) {
      records_.emplace_back(in_random_order);
    } else {
      add(walk);
    }
    end_step();
  }
}

void CampaignProgram::add_memory_passes() {
  const std::uint64_t bytes = campaign_.array_bytes;
  trace::Kernel pass;
  pass.name = "pass";
  pass.grid.x = static_cast<std::uint32_t>(campaign_.grid_blocks);
  pass.block.x = static_cast<std::uint32_t>(campaign_.block_threads);
  pass.distribution = trace::Distribution::kGridStride;
  pass.bytes_per_thread_access = static_cast<std::uint32_t>(campaign_.access_bytes);
  pass.duration_ns = duration_ns(bytes, campaign_.local_bytes_per_us);
  trace::ObjectId id = kArray;
  const auto add_array = [&](const std::optional<PassArray>& array, trace::AccessMode mode) {
    if (!array) return;
    allocate(id, bytes, array->kind);
    if (campaign_.advice == "preferred_host") {
      add(trace::Advise{id, 0, bytes, trace::Advice::kSetPreferredLocation, -1});
    } else if (campaign_.advice == "accessed_by_gpu") {
      add(trace::Advise{id, 0, bytes, trace::Advice::kSetAccessedBy, 0});
    }
    if (array->before == PassArray::Before::kRead) host_writes(id, bytes, trace::AccessMode::kRead);
    if (array->before == PassArray::Before::kWritten) host_writes(id, bytes);
    pass.accesses.push_back(whole(id++, bytes, mode));
  };
  add_array(campaign_.source_array, trace::AccessMode::kRead);
  add_array(campaign_.destination_array, trace::AccessMode::kWrite);
  for (std::uint64_t i = 0; i < campaign_.steps; ++i) {
    begin_step(fmt::format("launch {}", i + 1));
    add(pass);
    end_step();
  }
}

// All threads are in the same row at a time, so a matrix is read from its first byte to its last. A launch is one
// kernel in the original program, and one for each matrix and pass here.
void CampaignProgram::add_layer_products() {
  const std::uint64_t bytes = campaign_.array_bytes;
  for (trace::ObjectId id = kArray; id < kArray + campaign_.arrays; ++id) {
    allocate(id, bytes);
    host_writes(id, bytes);
  }
  trace::Sync computed;
  computed.host_gap_ns = static_cast<std::int64_t>(campaign_.host_ns);
  add(computed);
  const std::int64_t duration = duration_ns(bytes, campaign_.read_bytes_per_us);
  for (std::uint64_t launch = 0; launch < campaign_.steps; ++launch) {
    begin_step(fmt::format("launch {}", launch + 1));
    for (std::uint64_t i = 0; i < campaign_.passes * campaign_.arrays; ++i) {
      grid_stride("product", (campaign_.columns + kBlockThreads - 1) / kBlockThreads, 4, duration,
                  {whole(kArray + i % campaign_.arrays, bytes, trace::AccessMode::kRead)});
    }
    end_step();
  }
}

// The kernel of a grid of at most 65,535 blocks: each thread adds one to its words, one grid apart.
void CampaignProgram::add_phase_scan() {
  const std::uint64_t half = campaign_.array_bytes / 2 / kBasePageBytes * kBasePageBytes;
  allocate(kArray, campaign_.array_bytes);
  host_writes(kArray, campaign_.array_bytes);
  for (const char* name : {"A first", "B first", "A again", "B again"}) {
    if (step_names_.size() == campaign_.steps) return;
    const bool first_half = name[0] == 'A';
    const std::uint64_t begin = first_half ? 0 : half, end = first_half ? half : campaign_.array_bytes;
    begin_step(name);
    grid_stride("add_one", blocks_of_words(end - begin), kWordBytes,
                duration_ns(2 * (end - begin), campaign_.local_bytes_per_us),
                {access(kArray, begin, end, trace::AccessMode::kReadWrite)});
    end_step();
  }
}

void CampaignProgram::add_vector_add() {
  const std::uint64_t bytes = campaign_.array_bytes;
  for (trace::ObjectId id = kArray; id < kArray + 3; ++id) {
    allocate(id, bytes);
    host_writes(id, bytes);
  }
  for (std::uint64_t i = 0; i < campaign_.steps; ++i) {
    begin_step(fmt::format("launch {}", i + 1));
    grid_stride("vector_add", blocks_of_words(bytes), kWordBytes, duration_ns(3 * bytes, campaign_.local_bytes_per_us),
                {whole(kArray, bytes, trace::AccessMode::kRead), whole(kArray + 1, bytes, trace::AccessMode::kRead),
                 whole(kArray + 2, bytes, trace::AccessMode::kWrite)});
    end_step();
  }
}

// Thread i of the first kernel adds a[i][j] * y1[j] to x1[i] for all j, so that the lanes of a warp are on as many
// rows, and come back to each page once per word. All threads of the second one are in the same row of a at a time.
void CampaignProgram::add_matrix_vector() {
  constexpr trace::ObjectId x1 = 2, x2 = 3, y1 = 4, y2 = 5;
  const std::uint64_t bytes = campaign_.array_bytes, row_bytes = campaign_.columns * kNumberBytes;
  const std::uint64_t rows = bytes / row_bytes;
  allocate(kArray, bytes);
  for (const trace::ObjectId vector : {x1, x2, y1, y2}) {
    allocate(vector, (vector == x1 ? rows : vector == y2 ? rows : campaign_.columns) * kNumberBytes);
  }
  for (const trace::ObjectId vector : {x1, x2, y1, y2}) {
    host_writes(vector, (vector == x1 || vector == y2 ? rows : campaign_.columns) * kNumberBytes);
  }
  host_writes(kArray, bytes);
  trace::Kernel by_rows;
  by_rows.name = "row_per_thread";
  by_rows.grid.x = static_cast<std::uint32_t>((rows + kBlockThreads - 1) / kBlockThreads);
  by_rows.block.x = kBlockThreads;
  by_rows.distribution = trace::Distribution::kThreadChunk;
  by_rows.bytes_per_thread_access = kWordBytes;
  by_rows.duration_ns = static_cast<std::int64_t>(campaign_.page_ns * row_bytes / kBasePageBytes);
  by_rows.accesses = {whole(y1, row_bytes, trace::AccessMode::kRead), whole(kArray, bytes, trace::AccessMode::kRead),
                      whole(x1, rows * kNumberBytes, trace::AccessMode::kReadWrite)};
  for (std::uint64_t i = 0; i < campaign_.steps; ++i) {
    begin_step(fmt::format("launch {}", i + 1));
    add(by_rows);
    grid_stride("column_per_thread", (campaign_.columns + kBlockThreads - 1) / kBlockThreads, kWordBytes,
                duration_ns(bytes, campaign_.local_bytes_per_us),
                {whole(y2, rows * kNumberBytes, trace::AccessMode::kRead),
                 whole(kArray, bytes, trace::AccessMode::kRead), whole(x2, row_bytes, trace::AccessMode::kReadWrite)});
    end_step();
  }
}

// Blocks that lie side by side share their eight rows and the row on either side.
void CampaignProgram::add_convolution() {
  constexpr trace::ObjectId output = 2;
  constexpr std::uint64_t kBlockColumns = 32, kBlockRows = 8;
  const std::uint64_t bytes = campaign_.array_bytes, row_bytes = campaign_.columns * kNumberBytes;
  const std::uint64_t rows = bytes / row_bytes, bands = (rows + kBlockRows - 1) / kBlockRows;
  for (const trace::ObjectId id : {kArray, output}) allocate(id, bytes);
  for (const trace::ObjectId id : {kArray, output}) host_writes(id, bytes);
  trace::Kernel kernel;
  kernel.name = "convolution";
  kernel.grid.x = static_cast<std::uint32_t>((campaign_.columns + kBlockColumns - 1) / kBlockColumns);
  kernel.grid.y = static_cast<std::uint32_t>(bands);
  kernel.block.x = kBlockColumns;
  kernel.block.y = kBlockRows;
  kernel.duration_ns = duration_ns(2 * bytes, campaign_.local_bytes_per_us);
  kernel.accesses = {whole(kArray, bytes, trace::AccessMode::kRead), whole(output, bytes, trace::AccessMode::kWrite)};
  std::vector<trace::Phase> phases;
  for (std::uint64_t band = 0; band < bands; ++band) {
    const std::uint64_t first = band * kBlockRows, end = std::min(first + kBlockRows, rows);
    const std::uint64_t above = first == 0 ? 0 : first - 1, below = std::min(end + 1, rows);
    const auto extents = [&](std::uint64_t from, std::uint64_t to, trace::AccessMode mode) {
      return std::vector<trace::Extent>(access(kArray, from * row_bytes, to * row_bytes, mode).extents);
    };
    phases.push_back(
        {band * kernel.grid.x,
         kernel.grid.x,
         {{0, extents(above, below, trace::AccessMode::kRead)}, {1, extents(first, end, trace::AccessMode::kWrite)}}});
  }
  kernel.phases = trace::PhaseList(std::move(phases));
  for (std::uint64_t i = 0; i < campaign_.steps; ++i) {
    begin_step(fmt::format("launch {}", i + 1));
    add(kernel);
    end_step();
  }
}

// For column k: one thread reads column k of a; a thread per row divides it into column k of q; a thread per later
// column j multiplies column k of q with column j of a into r[k][j], and then subtracts the product from column j. The
// threads of the last kernel are all in the same row at a time; its two loops are a kernel each here.
void CampaignProgram::add_gram_schmidt() {
  constexpr trace::ObjectId r = 2, q = 3;
  const std::uint64_t bytes = campaign_.array_bytes, rows = campaign_.columns, row_bytes = rows * kNumberBytes;
  for (const trace::ObjectId id : {kArray, r, q}) allocate(id, bytes);
  for (const trace::ObjectId id : {kArray, q, r}) host_writes(id, bytes);
  // Extents of the columns of a page: they alone, and with all later ones.
  struct PageOfColumns {
    trace::ExtentList read, written, later_read, later_changed;
  };
  std::vector<PageOfColumns> pages;
  for (std::uint64_t begin = 0; begin < row_bytes; begin += kBasePageBytes) {
    const std::uint64_t end = std::min(begin + kBasePageBytes, row_bytes);
    const auto of = [&](std::uint64_t to, trace::AccessMode mode) {
      return trace::ExtentList(columns_of_page(rows, row_bytes, begin, to, mode));
    };
    pages.push_back({of(end, trace::AccessMode::kRead), of(end, trace::AccessMode::kWrite),
                     of(row_bytes, trace::AccessMode::kRead), of(row_bytes, trace::AccessMode::kReadWrite)});
  }
  const auto columns = std::make_shared<const std::vector<PageOfColumns>>(std::move(pages));
  const auto blocks = static_cast<std::uint32_t>((rows + kBlockThreads - 1) / kBlockThreads);
  const auto kernel_of = [blocks](const char* name, trace::Distribution distribution, std::int64_t duration) {
    trace::Kernel kernel;
    kernel.name = name;
    kernel.grid.x = blocks;
    kernel.block.x = kBlockThreads;
    kernel.distribution = distribution;
    kernel.bytes_per_thread_access = kWordBytes;
    kernel.duration_ns = duration;
    return kernel;
  };
  for (std::uint64_t step = 0; step < campaign_.steps; ++step) {
    begin_step(fmt::format("launch {}", step + 1));
    for (std::uint64_t k = 0; k < rows; ++k) {
      const std::uint64_t page = k * kNumberBytes / kBasePageBytes, later = (rows - k - 1) * kNumberBytes;
      records_.emplace_back([=, norm_ns = static_cast<std::int64_t>(campaign_.norm_ns)]() -> trace::Record {
        trace::Kernel kernel = kernel_of("norm", trace::Distribution::kThreadChunk, norm_ns);
        kernel.grid.x = 1;
        kernel.block.x = 1;
        kernel.accesses = {{kArray, (*columns)[page].read}};
        for (std::uint64_t row = 0; row < rows; ++row) {
          kernel.touches.push_back({0, (row * row_bytes + k * kNumberBytes) / kQuantumBytes, trace::AccessMode::kRead});
        }
        return kernel;
      });
      add(trace::Sync{});
      records_.emplace_back([=, duration = duration_ns(2 * rows * kSectorBytes, 0)]() -> trace::Record {
        trace::Kernel kernel = kernel_of("divide", trace::Distribution::kBlockLinear, duration);
        kernel.accesses = {{kArray, (*columns)[page].read}, {q, (*columns)[page].written}};
        return kernel;
      });
      add(trace::Sync{});
      if (later == 0) continue;
      for (const bool subtracts : {false, true}) {
        const std::int64_t duration = duration_ns((subtracts ? 2 : 1) * rows * later, 0);
        records_.emplace_back([=]() -> trace::Record {
          trace::Kernel kernel =
              kernel_of(subtracts ? "subtract" : "multiply", trace::Distribution::kGridStride, duration);
          const PageOfColumns& column = (*columns)[page];
          kernel.accesses = {{q, column.read},
                             {kArray, subtracts ? column.later_changed : column.later_read},
                             access(r, k * row_bytes + (k + 1) * kNumberBytes, (k + 1) * row_bytes,
                                    subtracts ? trace::AccessMode::kRead : trace::AccessMode::kWrite)};
          return kernel;
        });
      }
      add(trace::Sync{});
    }
    end_step();
  }
}

}  // namespace uvmsim::validate
