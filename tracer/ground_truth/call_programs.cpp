// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/call_programs.h"

#include <cstdio>
#include <initializer_list>

#include "tracer/ground_truth/experiment.h"

namespace uvmtrace::ground_truth {

namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::uint64_t kBusyNs = 5'000'000;
constexpr std::uint32_t kDefaultStream = 0, kOtherStream = 1;

using Steps = std::vector<Step>;

Step sync() { return {}; }
Step with_part(Act act, Part part) {
  Step step;
  step.act = act;
  step.part = part;
  return step;
}
Step host_write(Part part) { return with_part(Act::kHostWrite, part); }
Step host_read(Part part) { return with_part(Act::kHostRead, part); }
Step prefetch(Part part, Target target, std::uint32_t stream = kDefaultStream) {
  Step step = with_part(Act::kPrefetch, part);
  step.target = target;
  step.stream = stream;
  return step;
}
Step advise(Part part, const char* how, Target target) {
  Step step = with_part(Act::kAdvise, part);
  step.how = how;
  step.target = target;
  return step;
}
Step kernel(Act act, Part part, std::uint32_t grid, std::uint32_t access_bytes) {
  Step step = with_part(act, part);
  step.grid = grid;
  step.access_bytes = access_bytes;
  return step;
}
Step busy(std::uint32_t stream, std::uint64_t ns = kBusyNs) {
  Step step;
  step.act = Act::kBusy;
  step.stream = stream;
  step.ns = ns;
  return step;
}
Step launches(std::uint32_t count) {
  Step step;
  step.act = Act::kLaunch;
  step.count = count;
  return step;
}

std::string size_text(std::uint64_t bytes) {
  return bytes % kMiB == 0 ? std::to_string(bytes / kMiB) + "MiB" : std::to_string(bytes / kKiB) + "KiB";
}

Steps operator+(Steps left, const Steps& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// The location of the pages before the measured call.
struct State {
  const char* name;
  std::uint64_t least_bytes;  // programs with less memory do not have this state
  Steps (*prepare)(Part whole);
};

Steps nothing(Part) { return {}; }
Steps on_host(Part whole) { return {host_write(whole)}; }
Steps on_gpu(Part whole) { return {host_write(whole), prefetch(whole, Target::kGpu), sync()}; }
Steps back_on_host(Part whole) { return on_gpu(whole) + Steps{prefetch(whole, Target::kHost), sync()}; }
// A kernel writes the pages first: the host never had them.
Steps born_on_gpu(Part whole) { return {kernel(Act::kWrite, whole, 1024, 16), sync()}; }
Steps half_of_each_block(Part whole) {
  return {host_write(whole), prefetch({0, kBlockBytes / 2, kBlockBytes}, Target::kGpu), sync()};
}
Steps every_second_block(Part whole) {
  return {host_write(whole), prefetch({0, kBlockBytes, 2 * kBlockBytes}, Target::kGpu), sync()};
}
Steps on_both(Part whole) {
  return {advise(whole, "set_read_mostly", Target::kGpu), host_write(whole), prefetch(whole, Target::kGpu), sync()};
}

constexpr State kUntouched{"untouched", 0, nothing};
constexpr State kHost{"host", 0, on_host};
constexpr State kBack{"host_back", 0, back_on_host};
constexpr State kGpu{"gpu", 0, on_gpu};
constexpr State kBorn{"gpu_born", 0, born_on_gpu};
constexpr State kHalves{"halves", kBlockBytes, half_of_each_block};
constexpr State kAlternate{"alternate", 2 * kBlockBytes, every_second_block};
constexpr State kBoth{"duplicated", 0, on_both};

// Concurrent work.
struct Company {
  const char* name;
  std::uint32_t stream;  // the stream of the measured call
  Steps before;
};

const std::vector<Company>& companies() {
  static const std::vector<Company> list = {
      {"idle", kDefaultStream, {}},
      {"behind", kDefaultStream, {busy(kDefaultStream)}},
      {"beside", kDefaultStream, {busy(kOtherStream)}},
      {"other_stream", kOtherStream, {}},
      {"other_behind", kOtherStream, {busy(kOtherStream)}},
  };
  return list;
}

class List {
 public:
  void add(std::string name, std::uint64_t bytes, Steps steps) {
    programs_.push_back({std::move(name), bytes, std::move(steps)});
  }

  // Adds the measured call, followed by a wait.
  void add_call(const std::string& call, const State& state, const Company& company, std::uint64_t bytes, Step step) {
    if (bytes < state.least_bytes) return;
    step.part = {0, bytes, 0};
    if (step.asynchronous) step.stream = company.stream;
    Steps steps = state.prepare(step.part) + company.before;
    steps.push_back(std::move(step));
    steps.push_back(sync());
    add(call + "/" + state.name + "/" + company.name + "/" + size_text(bytes), bytes, std::move(steps));
  }

  void add_prefetches(std::size_t company, std::initializer_list<std::uint64_t> sizes) {
    for (const std::uint64_t bytes : sizes) {
      for (const State& state : {kHost, kUntouched, kGpu, kBack, kBorn, kHalves, kAlternate, kBoth}) {
        for (const Target target : {Target::kGpu, Target::kHost}) {
          add_call(target == Target::kGpu ? "prefetch_gpu" : "prefetch_host", state, companies()[company], bytes,
                   prefetch({}, target));
        }
      }
    }
  }

  // Adds several calls one after the other, each timed.
  void add_prefetch_rows() {
    const std::uint64_t total = 64 * kMiB;
    for (const Target target : {Target::kGpu, Target::kHost}) {
      const std::string call = target == Target::kGpu ? "row_gpu" : "row_host";
      const Steps before = target == Target::kGpu ? on_host({0, total, 0}) : on_gpu({0, total, 0});
      for (const std::uint64_t piece : {2 * kMiB, 16 * kMiB}) {
        Steps steps = before;
        for (std::uint64_t at = 0; at < total; at += piece) steps.push_back(prefetch({at, piece, 0}, target));
        steps.push_back(sync());
        add(call + "/whole/idle/" + size_text(piece), total, std::move(steps));
      }
      // One program with pieces of 2 MiB that span two blocks, another with 4 KiB of each block.
      add(call + "/across/idle/2MiB", total, before + Steps{prefetch({kMiB, 2 * kMiB, 4 * kMiB}, target), sync()});
      add(call + "/pages/idle/4KiB", total, before + Steps{prefetch({64 * kKiB, 4 * kKiB, 2 * kMiB}, target), sync()});
      for (const std::uint64_t us : {50u, 500u}) {
        add(call + "/short_kernel_" + std::to_string(us) + "us/behind/64MiB", total,
            before + Steps{busy(kDefaultStream, us * 1000), prefetch({0, total, 0}, target), sync()});
      }
    }
    const Part left{0, total / 2, 0}, right{total / 2, total / 2, 0};
    add("prefetch_both_ways/two_streams/idle/64MiB", total,
        Steps{host_write({0, total, 0}), prefetch(right, Target::kGpu), sync(), prefetch(left, Target::kGpu),
              prefetch(right, Target::kHost, kOtherStream), sync()});
  }

  void add_read_mostly_fills() {
    struct Shape {
      const char* name;
      std::uint32_t grid, access_bytes;  // grid 0: one thread block per page
    };
    constexpr Shape kLoop{"loop4", 64, 4}, kWide{"loop16", 64, 16}, kPages{"block_per_page", 0, 16};
    const auto fill = [&](const Shape& shape, const State& state, const char* between, bool hint, std::uint64_t bytes) {
      const Part whole{0, bytes, 0};
      Steps steps;
      if (hint) steps.push_back(advise(whole, "set_read_mostly", Target::kGpu));
      steps = steps + state.prepare(whole);
      const std::uint32_t grid = shape.grid != 0 ? shape.grid : static_cast<std::uint32_t>(bytes / kPageBytes);
      for (int i = 0; i < 5; ++i) {
        steps.push_back(kernel(Act::kWrite, whole, grid, shape.access_bytes));
        steps.push_back(sync());
        const std::string what = between;
        if (what == "host_read") steps.push_back(host_read(whole));
        if (what == "host_write") steps.push_back(host_write(whole));
        if (what == "kernel_read") {
          steps.push_back(kernel(Act::kRead, whole, grid, shape.access_bytes));
          steps.push_back(sync());
        }
      }
      add(std::string("fill_") + (hint ? "read_mostly" : "plain") + "/" + state.name + "/" + shape.name + "_" +
              between + "/" + size_text(bytes),
          bytes, std::move(steps));
    };
    for (const bool hint : {true, false}) {
      for (const char* between : {"nothing", "host_read", "host_write", "kernel_read"}) {
        for (const std::uint64_t bytes : {1 * kMiB, 2 * kMiB, 8 * kMiB, 32 * kMiB}) {
          fill(kLoop, kHost, between, hint, bytes);
        }
      }
      fill(kLoop, kHost, "nothing", hint, 3 * kMiB);
      fill(kLoop, kHost, "nothing", hint, 256 * kKiB);
      for (const State& state : {kUntouched, kGpu}) fill(kLoop, state, "nothing", hint, 8 * kMiB);
      for (const Shape& shape : {kWide, kPages}) {
        for (const std::uint64_t bytes : {2 * kMiB, 8 * kMiB}) fill(shape, kHost, "nothing", hint, bytes);
        fill(shape, kHost, "host_read", hint, 8 * kMiB);
      }
    }
    // One thread writes one page at a time, which shows which writes fault.
    for (const bool hint : {true, false}) {
      for (const std::uint32_t count : {16u, 64u, 512u}) {
        for (const std::uint32_t multiplier : {1u, 181u}) {
          for (const bool reads : {false, true}) {
            const Part whole{0, kBlockBytes, 0};
            Steps steps;
            if (hint) steps.push_back(advise(whole, "set_read_mostly", Target::kGpu));
            steps.push_back(host_write(whole));
            for (int i = 0; i < 4; ++i) {
              Step touch = with_part(Act::kTouch, whole);
              touch.count = count;
              touch.multiplier = multiplier;
              steps.push_back(touch);
              steps.push_back(sync());
              if (reads) steps.push_back(host_read(whole));
            }
            add(std::string("touch_") + (hint ? "read_mostly" : "plain") + "/host/" +
                    (multiplier == 1 ? "ascending" : "scattered") + (reads ? "_host_read" : "_nothing") + "/" +
                    std::to_string(count) + "pages",
                kBlockBytes, std::move(steps));
          }
        }
      }
    }
  }

  void add_sets_and_copies() {
    for (const std::size_t company : {0u, 1u}) {
      for (const bool asynchronous : {false, true}) {
        for (const std::uint64_t bytes : {64 * kKiB, 2 * kMiB, 32 * kMiB}) {
          Step set = with_part(Act::kSet, {});
          set.asynchronous = asynchronous;
          for (const State& state : {kUntouched, kHost, kGpu}) {
            add_call(asynchronous ? "memset_async" : "memset", state, companies()[company], bytes, set);
          }
          for (const char* how : {"pinned>managed", "pageable>managed", "device>managed", "managed>pinned",
                                  "managed>pageable", "managed>device", "managed>managed"}) {
            Step copy = with_part(Act::kCopy, {});
            copy.asynchronous = asynchronous;
            copy.how = how;
            for (const State& state : {kHost, kGpu}) {
              add_call((asynchronous ? "memcpy_async_" : "memcpy_") + copy.how, state, companies()[company], bytes,
                       copy);
            }
          }
        }
      }
    }
  }

  void add_frees() {
    for (const std::size_t company : {0u, 1u, 2u}) {
      for (const std::uint64_t bytes : {64 * kKiB, 2 * kMiB, 32 * kMiB, 128 * kMiB}) {
        for (const State& state : {kUntouched, kHost, kGpu, kBorn, kBack, kBoth}) {
          const Part whole{0, bytes, 0};
          add("free/" + std::string(state.name) + "/" + companies()[company].name + "/" + size_text(bytes), bytes,
              state.prepare(whole) + companies()[company].before + Steps{with_part(Act::kFree, whole)});
        }
      }
    }
  }

  void add_advice() {
    struct Advice {
      const char* name;
      const char* how;
      Target target;
      const char* first;  // advice that precedes it, or null
    };
    const Advice list[] = {
        {"set_read_mostly", "set_read_mostly", Target::kGpu, nullptr},
        {"unset_read_mostly", "unset_read_mostly", Target::kGpu, "set_read_mostly"},
        {"prefer_gpu", "set_preferred_location", Target::kGpu, nullptr},
        {"prefer_host", "set_preferred_location", Target::kHost, nullptr},
        {"unset_prefer_gpu", "unset_preferred_location", Target::kGpu, "set_preferred_location"},
        {"accessed_by_gpu", "set_accessed_by", Target::kGpu, nullptr},
        {"accessed_by_host", "set_accessed_by", Target::kHost, nullptr},
        {"unset_accessed_by_gpu", "unset_accessed_by", Target::kGpu, "set_accessed_by"},
    };
    for (const Advice& kind : list) {
      for (const std::size_t company : {0u, 1u}) {
        for (const std::uint64_t bytes : {64 * kKiB, 2 * kMiB, 64 * kMiB}) {
          for (const State& state : {kUntouched, kHost, kGpu}) {
            if (company == 1 && bytes != 2 * kMiB) continue;
            const Part whole{0, bytes, 0};
            Steps steps = state.prepare(whole);
            if (kind.first != nullptr) steps.push_back(advise(whole, kind.first, kind.target));
            steps = steps + companies()[company].before;
            steps.push_back(advise(whole, kind.how, kind.target));
            steps.push_back(sync());
            add("advise_" + std::string(kind.name) + "/" + state.name + "/" + companies()[company].name + "/" +
                    size_text(bytes),
                bytes, std::move(steps));
          }
        }
      }
    }
  }

  // A hint for a part of each block, followed by two kernels.
  void add_partial_hints() {
    constexpr std::uint64_t kBlocks = 32, kBytes = kBlocks * kBlockBytes, kHalf = kBlockBytes / 2;
    struct Hint {
      const char* name;
      std::vector<std::pair<const char*, Target>> advice;
    };
    const Hint hints[] = {
        {"none", {}},
        {"prefer_host", {{"set_preferred_location", Target::kHost}}},
        {"prefer_gpu", {{"set_preferred_location", Target::kGpu}}},
        {"accessed_by", {{"set_accessed_by", Target::kGpu}}},
        {"prefer_host_accessed_by", {{"set_preferred_location", Target::kHost}, {"set_accessed_by", Target::kGpu}}},
        {"read_mostly", {{"set_read_mostly", Target::kGpu}}},
    };
    const std::pair<const char*, Part> parts[] = {
        {"first64KiB", {0, 64 * kKiB, kBlockBytes}},
        {"middle256KiB", {768 * kKiB, 256 * kKiB, kBlockBytes}},
        {"first1MiB", {0, kHalf, kBlockBytes}},
        {"last1MiB", {kHalf, kHalf, kBlockBytes}},
    };
    const std::pair<const char*, Part> touched[] = {
        {"second_half", {kHalf, kHalf, kBlockBytes}},
        {"all", {0, kBytes, 0}},
    };
    for (const Hint& hint : hints) {
      for (const auto& [part_name, part] : parts) {
        if (hint.advice.empty() && part_name != parts[0].first) continue;
        for (const auto& [touched_name, what] : touched) {
          for (const Act act : {Act::kRead, Act::kWrite}) {
            Steps steps = {host_write({0, kBytes, 0})};
            for (const auto& [how, target] : hint.advice) steps.push_back(advise(part, how, target));
            for (int i = 0; i < 2; ++i) {
              steps.push_back(kernel(act, what, 64, 16));
              steps.push_back(sync());
            }
            steps.push_back(host_read({0, kBytes, 0}));
            add("part_" + std::string(hint.name) + "/" + part_name + "/" + (act == Act::kRead ? "read_" : "write_") +
                    touched_name + "/64MiB",
                kBytes, std::move(steps));
          }
        }
      }
    }
  }

  // Programs that show how many kernels may be queued before a launch waits.
  void add_launches() {
    for (const std::uint32_t count : {256u, 1000u, 1040u, 1500u}) {
      add("launch/none/behind/" + std::to_string(count), kBlockBytes, {busy(kDefaultStream), launches(count), sync()});
    }
    add("launch/none/idle/256", kBlockBytes, {launches(256), sync()});
  }

  std::vector<CallProgram> take() { return std::move(programs_); }

 private:
  std::vector<CallProgram> programs_;
};

const char* act_text(const Step& step) {
  switch (step.act) {
    case Act::kHostWrite:
      return "host_write";
    case Act::kHostRead:
      return "host_read";
    case Act::kPrefetch:
      return "prefetch";
    case Act::kAdvise:
      return "advise";
    case Act::kWrite:
      return "write";
    case Act::kRead:
      return "read";
    case Act::kTouch:
      return "touch";
    case Act::kSet:
      return step.asynchronous ? "memset_async" : "memset";
    case Act::kCopy:
      return step.asynchronous ? "memcpy_async" : "memcpy";
    case Act::kBusy:
      return "busy";
    case Act::kLaunch:
      return "launch";
    case Act::kSync:
      return "sync";
    case Act::kFree:
      return "free";
  }
  return "";
}

void add_number(std::string& text, const char* key, std::uint64_t value) {
  text += ",\"" + std::string(key) + "\":" + std::to_string(value);
}

void add_time(std::string& text, const char* key, double us) {
  char number[40];
  std::snprintf(number, sizeof number, ",\"%s\":%.2f", key, us);
  text += number;
}

std::string step_text(const Step& step, const StepTime& time) {
  std::string text = "{\"act\":\"" + std::string(act_text(step)) + "\"";
  if (!step.how.empty()) text += ",\"how\":\"" + step.how + "\"";
  if (step.act == Act::kPrefetch || step.act == Act::kAdvise) {
    text += std::string(",\"target\":\"") + (step.target == Target::kGpu ? "gpu" : "host") + "\"";
  }
  if (step.part.bytes != 0) {
    add_number(text, "offset", step.part.offset);
    add_number(text, "bytes", step.part.bytes);
    if (step.part.each != 0) add_number(text, "each", step.part.each);
  }
  if (step.stream != 0) add_number(text, "stream", step.stream);
  if (step.act == Act::kWrite || step.act == Act::kRead) {
    add_number(text, "grid", step.grid);
    add_number(text, "threads", step.threads);
    add_number(text, "access_bytes", step.access_bytes);
  }
  if (step.act == Act::kTouch || step.act == Act::kLaunch) add_number(text, "count", step.count);
  if (step.act == Act::kTouch) add_number(text, "multiplier", step.multiplier);
  if (step.act == Act::kBusy) add_number(text, "ns", step.ns);
  add_time(text, "us", time.us);
  if (time.gpu_us >= 0) add_time(text, "gpu_us", time.gpu_us);
  return text + "}";
}

}  // namespace

std::vector<CallProgram> call_programs() {
  List list;
  list.add_prefetches(0, {2 * kMiB, 16 * kMiB, 256 * kMiB});
  list.add_prefetches(1, {2 * kMiB, 64 * kMiB});
  list.add_read_mostly_fills();
  list.add_sets_and_copies();
  list.add_frees();
  list.add_advice();
  list.add_partial_hints();
  list.add_prefetches(0, {64 * kKiB, 512 * kKiB, 4 * kMiB, 64 * kMiB});
  list.add_prefetches(1, {64 * kKiB, 16 * kMiB});
  list.add_prefetches(2, {2 * kMiB, 64 * kMiB});
  list.add_prefetches(3, {64 * kMiB});
  list.add_prefetches(4, {64 * kMiB});
  list.add_prefetch_rows();
  list.add_launches();
  return list.take();
}

std::string to_line(const CallProgram& program, const CallTimes& times, std::uint32_t pass) {
  std::string text = "{\"program\":\"" + program.name + "\",\"pass\":" + std::to_string(pass);
  add_number(text, "bytes", program.bytes);
  add_time(text, "allocate_us", times.allocate_us);
  text += ",\"steps\":[";
  for (std::size_t i = 0; i < program.steps.size() && i < times.steps.size(); ++i) {
    if (i != 0) text += ",";
    text += step_text(program.steps[i], times.steps[i]);
  }
  return text + "]}\n";
}

}  // namespace uvmtrace::ground_truth
