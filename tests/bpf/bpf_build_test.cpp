// SPDX-License-Identifier: Apache-2.0
// Checks which sources `uvmsim bpf build` accepts, the effects of maps and helpers, and forbidden actions of a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/common/check.h"
#include "sim/common/error.h"
#include "tests/bpf/built_policy.h"
#include "tests/policy/chunks.h"
#include "tests/policy/faults.h"
#include "tests/report/scratch_folder.h"

namespace uvmsim::policy {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A program that decides before a prefetch, and its entry in the operations.
constexpr const char* kDecides = ".uvm_prefetch_before_compute = (void *)decide";
std::string deciding(const std::string& maps, const std::string& body) {
  return bpf_source(maps +
                        "\nSEC(\"struct_ops/uvm_prefetch_before_compute\") int BPF_PROG(decide, uvm_page_index_t page, "
                        "uvm_perf_prefetch_bitmap_tree_t *tree, uvm_va_block_region_t *max, uvm_va_block_region_t "
                        "*result) {\n" +
                        body + "\n}",
                    kDecides);
}

std::string map_of(const char* type, int entries, const char* key, const char* value, const char* name) {
  return "struct { __uint(type, BPF_MAP_TYPE_" + std::string(type) + "); __uint(max_entries, " +
         std::to_string(entries) + "); __type(key, " + key + "); __type(value, " + value + "); } " + name +
         " SEC(\".maps\");\n";
}

class BpfBuild : public ::testing::Test {
 protected:
  BpfBuildResult build(const std::string& source, const std::string& options = "") {
    return build_bpf(folder_, folder_.write("mine.bpf.c", source), options);
  }
  std::string refusal(const std::string& source, const std::string& options = "") {
    const BpfBuildResult result = build(source, options);
    EXPECT_FALSE(result.built) << source;
    EXPECT_THAT(result.errors, StartsWith("uvmsim: error: "));
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
    EXPECT_FALSE(std::filesystem::exists(result.plugin));
    return result.errors;
  }
  std::shared_ptr<Registry> load(const std::string& source, const std::string& options = "") {
    const BpfBuildResult result = build(source, options);
    EXPECT_TRUE(result.built) << result.errors;
    return with_plugin(result.plugin);
  }
  const ScratchFolder folder_;
};

TEST_F(BpfBuild, RefusesInOneLineWhatIsNoPolicy) {
  EXPECT_THAT(refusal(deciding("int x = ;", "return 0;")), HasSubstr("mine.bpf.c:7:"));
  EXPECT_THAT(refusal("#include <nowhere.h>\n"), HasSubstr("nowhere.h"));
  EXPECT_THAT(refusal("static int f(void) { return 0; }\n"), HasSubstr("has no operations in SEC(\".struct_ops\")"));
  EXPECT_THAT(refusal(bpf_source("", "")), HasSubstr("has no operation of a driver"));
  EXPECT_THAT(refusal(bpf_source("", ".nothing = 0")), HasSubstr("nothing"));
  EXPECT_THAT(refusal(deciding("", "return bpf_nowhere();")), HasSubstr("bpf_nowhere"));
  const BpfBuildResult none = build_bpf(folder_, folder_.path("none.bpf.c"));
  EXPECT_THAT(none.errors, HasSubstr("none.bpf.c: no such file"));
}

TEST_F(BpfBuild, NamesWhatASourceNeedsThatIsNotThere) {
  const std::string decides = "return 0;";
  const auto with = [&](const std::string& more) { return refusal(deciding(more, decides)); };
  EXPECT_THAT(with("SEC(\"uprobe/libcuda.so:cuLaunchKernel\") int BPF_KPROBE(launched) { return 0; }"),
              AllOf(HasSubstr("mine.bpf.c:7"), HasSubstr("needs a uprobe 'uprobe/libcuda.so:cuLaunchKernel'")));
  EXPECT_THAT(with("SEC(\"kprobe/vfs_read\") int BPF_KPROBE(read_file) { return 0; }"),
              AllOf(HasSubstr("needs a kprobe 'kprobe/vfs_read'"), HasSubstr("uvm_perf_prefetch_get_hint_va_block")));
  EXPECT_THAT(with("SEC(\"tracepoint/sched/sched_switch\") int switched(void *ctx) { return 0; }"),
              HasSubstr("needs a tracepoint"));
  EXPECT_THAT(with(map_of("STACK_TRACE", 8, "u32", "u32", "stacks")), HasSubstr("is a BPF_MAP_TYPE_STACK_TRACE"));
  EXPECT_THAT(refusal(deciding("extern int bpf_wq_start(void *wq, unsigned int flags) __weak __ksym;",
                               "return bpf_wq_start(0, 0);")),
              HasSubstr("needs bpf_wq_start()"));
  EXPECT_THAT(refusal(deciding("static int count;", "return ++count > 1;")),
              AllOf(HasSubstr("variable 'count'"), HasSubstr("allowed: constants, and maps")));
  EXPECT_THAT(
      refusal("#include <vmlinux.h>\n#include <bpf/bpf_helpers.h>\nstruct sched_ext_ops { int (*init)(void); };\n"
              "SEC(\".struct_ops\") struct sched_ext_ops ops = {0};\n"),
      HasSubstr("operations of type struct sched_ext_ops"));
}

TEST_F(BpfBuild, WritesIntoMapsWhatALoaderWould) {
  const std::string source =
      deciding(map_of("ARRAY", 2, "u32", "u64", "config") + map_of("HASH", 4, "u32", "u32", "quota"),
               "u32 one = 1, seven = 7; u64 *c = bpf_map_lookup_elem(&config, &one);\n"
               "u32 *q = bpf_map_lookup_elem(&quota, &seven);\n"
               "if (c && q) bpf_uvm_set_va_block_region(result, *q, *c); return 1;");
  const auto registry = load(source, "--map 'config[1]=20' --map 'quota[7]=0x10'");
  const auto built = registry->create<Prefetcher>("mine", {}, 1, 4);
  EXPECT_TRUE(BlockUnderTest{*built}.added(mask_of({3})) == PageMask::range(16, 4));
  const auto given = registry->create<Prefetcher>("mine", {{"config_1", "32"}}, 1, 4);
  EXPECT_TRUE(BlockUnderTest{*given}.added(mask_of({3})) == PageMask::range(16, 16));
  EXPECT_TRUE(BlockUnderTest{*built}.added(mask_of({3})) == PageMask::range(16, 4));  // each has maps of its own
}

TEST_F(BpfBuild, RefusesWrongSettings) {
  const std::string source = deciding(map_of("ARRAY", 2, "u32", "u64", "config"), "return 0;");
  EXPECT_THAT(refusal(source, "--map 'config=5'"), HasSubstr("allowed: NAME[KEY]=VALUE"));
  EXPECT_THAT(refusal(source, "--map 'konfig[0]=5'"), HasSubstr("no map 'konfig'; allowed: config"));
  EXPECT_THAT(refusal(source, "--map 'config[0]=x'"), HasSubstr("'x' is no number"));
  EXPECT_THAT(refusal(source, "--name Mine"), HasSubstr("--name: 'Mine'"));
  EXPECT_THAT(refusal(source, "--compiler nowhere-cc"), HasSubstr("nowhere-cc"));
  const auto registry = load(source, "--map 'config[2]=5'");
  EXPECT_THROW(registry->create<Prefetcher>("mine", {}, 1, 4), InputError);
}

// The program makes one check after the other; the region's end is the number of the first check that differs from the
// kernel.
TEST_F(BpfBuild, MapsAndHelpersAreTheKernels) {
  const std::string maps =
      map_of("HASH", 2, "u64", "u32", "hash") + map_of("ARRAY", 3, "u32", "u64", "array") +
      map_of("PERCPU_ARRAY", 1, "u32", "u32", "percpu") + map_of("LRU_HASH", 2, "u32", "u32", "lru") +
      "struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 64); } ring SEC(\".maps\");"
      "static long five_times(u64 i, u64 *sum) { *sum += 2; return i == 4; }";
  const std::string body = R"(
    u32 at = 0, a = 0, b = 1, c = 2, d = 3, v = 7; u64 x = 10, y = 11, z = 12, w = 5; u32 *p; u64 *q; void *r; char name[16];
    #define IS(condition) ++at; if (!(condition)) { bpf_uvm_set_va_block_region(result, 0, at); return 1; }
    IS(!bpf_map_lookup_elem(&hash, &x))
    IS(bpf_map_update_elem(&hash, &x, &v, BPF_EXIST) == -2)
    IS(bpf_map_update_elem(&hash, &x, &v, BPF_NOEXIST) == 0)
    IS(bpf_map_update_elem(&hash, &x, &v, BPF_NOEXIST) == -17)
    IS(bpf_map_update_elem(&hash, &x, &v, 77) == -22)
    IS((p = bpf_map_lookup_elem(&hash, &x)) && *p == 7)
    IS(__sync_fetch_and_add(p, 2) == 7 && *p == 9)
    IS(bpf_map_update_elem(&hash, &y, &v, BPF_ANY) == 0)
    IS(bpf_map_update_elem(&hash, &z, &v, BPF_ANY) == -7)
    IS(bpf_map_delete_elem(&hash, &x) == 0)
    IS(bpf_map_delete_elem(&hash, &x) == -2)
    IS(bpf_map_update_elem(&hash, &z, &v, BPF_ANY) == 0)
    IS(!bpf_map_lookup_elem(&array, &d))
    IS((q = bpf_map_lookup_elem(&array, &c)) && *q == 0)
    IS(bpf_map_update_elem(&array, &c, &w, BPF_ANY) == 0 && *q == 5)
    IS(bpf_map_update_elem(&array, &d, &w, BPF_ANY) == -7)
    IS(bpf_map_update_elem(&array, &c, &w, BPF_NOEXIST) == -17)
    IS(bpf_map_delete_elem(&array, &c) == -22)
    IS((p = bpf_map_lookup_elem(&percpu, &a)) && *p == 0)
    IS(!bpf_map_lookup_elem(&percpu, &b))
    IS(bpf_map_update_elem(&lru, &a, &v, BPF_ANY) == 0 && bpf_map_update_elem(&lru, &b, &v, BPF_ANY) == 0)
    IS(bpf_map_lookup_elem(&lru, &a))
    IS(bpf_map_update_elem(&lru, &c, &v, BPF_ANY) == 0)
    IS(bpf_map_lookup_elem(&lru, &a) && !bpf_map_lookup_elem(&lru, &b))
    IS(!bpf_ringbuf_reserve(&ring, 60, 0))
    r = bpf_ringbuf_reserve(&ring, 40, 0);
    IS(r)
    IS(!bpf_ringbuf_reserve(&ring, 40, 0))
    *(u64 *)r = 1; bpf_ringbuf_submit(r, 0);
    IS(bpf_ringbuf_output(&ring, name, sizeof(name), 0) == 0)
    IS((r = bpf_ringbuf_reserve(&ring, 40, 0)))
    bpf_ringbuf_discard(r, 0);
    IS(bpf_ktime_get_ns() == 0 && bpf_get_smp_processor_id() == 0)
    IS(bpf_loop(10, five_times, &w, 0) == 5 && w == 15 && bpf_loop(1 << 24, five_times, &w, 0) == -7)
    IS(bpf_get_current_comm(name, sizeof(name)) == 0 && name[0] == 'U')
    IS(bpf_probe_read_kernel(&v, sizeof(v), (void *)8) == -14 && v == 0)
    IS(BPF_CORE_READ((uvm_gpu_chunk_t *)8, va_block, start) == 0)
    IS(BPF_CORE_READ(tree, leaf_count) == 512 && BPF_CORE_READ(tree, level_count) == 10 && BPF_CORE_READ(max, outer) == 512)
    IS(BPF_CORE_READ(tree, pages.bitmap[0]) == 0xffff)
    bpf_printk("%u", at);
    bpf_uvm_set_va_block_region(result, 0, 0);
    return 1;)";
  for (const char* compiler : {"gcc", "clang"}) {
    if (std::system((std::string("command -v ") + compiler + " >/dev/null").c_str()) != 0) continue;
    const auto policy =
        load(deciding(maps, body), std::string("--compiler ") + compiler)->create<Prefetcher>("mine", {}, 1, 4);
    PageMask brought = BlockUnderTest{*policy}.added(mask_of({3}));
    EXPECT_TRUE(brought.empty()) << compiler << ": step " << brought.count() + 1;
    std::filesystem::remove(folder_.path("plugin.so"));
  }
}

// One policy contains all forbidden actions and executes the one that its loader selected.
TEST_F(BpfBuild, EndsARunWithOneLineWhereAVerifierWouldRefuse) {
  const auto registry = load(deciding(
      "struct counts { u64 of[4], more; };" + map_of("ARRAY", 1, "u32", "u32", "mode") +
          map_of("HASH", 2, "u32", "u64", "values") + map_of("PERCPU_ARRAY", 1, "u32", "struct counts", "counts") +
          "struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 4096); } ring SEC(\".maps\");",
      R"(
    u32 key = 0, *chosen = bpf_map_lookup_elem(&mode, &key); u64 zero = 0; struct counts *c;
    bpf_map_update_elem(&values, &key, &zero, BPF_ANY);
    u64 *v = bpf_map_lookup_elem(&values, &key);
    if (!chosen || !v) return 0;
    switch (*chosen) {
      case 1: v[1] = 5; return 0;
      case 2: key = 2; v = bpf_map_lookup_elem(&values, &key); return *v;
      case 3: if ((c = bpf_map_lookup_elem(&counts, &key))) c->of[page + 1]++; return 0;
      case 4: return 7;
      case 5: bpf_uvm_set_va_block_region(result, 9, 3); return 1;
      case 6: result->outer = 512; return 1;
      case 7: *(u64 *)(0x123456789000ull + page) = 1; return 1;
      case 8: bpf_uvm_pmm_chunk_move_head((void *)max, (void *)tree); return 1;
      case 9: bpf_ringbuf_reserve(&ring, 16, 0); return 0;
      case 10: bpf_map_lookup_elem(&ring, &key); return 0;
      case 11: bpf_map_lookup_elem(tree, &key); return 0;
    }
    return 0;)"));
  const std::pair<const char*, const char*> wrong[] = {
      {"1", "uvm_prefetch_before_compute() writes 8 bytes at offset 8 of a value of map 'values', which has 8 bytes"},
      {"2", "reads 8 bytes through a null pointer"},
      {"3", "has index 4 outside of an array, in mine.bpf.c:"},
      {"4", "returned 7; allowed: 0 (default), 1 (bypass), 2 (enter the loop)"},
      {"5", "sets the region [9, 3)"},
      {"6", "which it may only read"},
      {"7", "writes 8 bytes outside of its stack"},
      {"8", "moves something that is no chunk"},
      {"9", "neither submitted nor discarded"},
      {"10", "calls bpf_map_lookup_elem() with a ring buffer"},
      {"11", "calls bpf_map_lookup_elem() with something that is no map"}};
  for (const auto& [mode, expected] : wrong) {
    const auto policy = registry->create<Prefetcher>("mine", {{"mode_0", mode}}, 1, 4);
    try {
      BlockUnderTest{*policy}.added(mask_of({3}));
      ADD_FAILURE() << "nothing was wrong with " << mode;
    } catch (const ModelError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("prefetch policy 'mine'"), HasSubstr(expected)));
    }
  }
  const auto fine = registry->create<Prefetcher>("mine", {}, 1, 4);
  EXPECT_TRUE(BlockUnderTest{*fine}.added(mask_of({3})) == PageMask::range(0, 16) - mask_of({3}));
}

TEST_F(BpfBuild, AnEndlessLoopIsStoppedAndNamed) {
  ASSERT_TRUE(
      build(bpf_source("int BPF_PROG(act, uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk, struct list_head *list) {\n"
                       "while (chunk->list.next != 0) bpf_uvm_pmm_chunk_move_head(chunk, list); return 0; }",
                       ".uvm_pmm_chunk_activate = (void *)act"))
          .built);
  const std::string line = std::string("'") + UVMSIM_COMMAND + "' check-policy '" + folder_.path("plugin.so") +
                           "' --cpu-seconds 1 >'" + folder_.path("said") + "' 2>&1";
  EXPECT_NE(std::system(line.c_str()), 0);
  EXPECT_THAT(folder_.read("said"), AllOf(HasSubstr("'mine'"), HasSubstr("does not return")));
}

// Expected order of hooks: activate, then used; prepare before an eviction, head first; unused before used. A bypass
// leaves a chunk where it is.
TEST_F(BpfBuild, CallsTheHooksOfAnEvictorAsTheDriver) {
  const auto registry = load(bpf_source(
      R"(
int BPF_PROG(act, uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk, struct list_head *list) { return 0; }
int BPF_PROG(use, uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk, struct list_head *list) {
  return BPF_CORE_READ(chunk, va_block, start) == 3 * 2097152 && BPF_CORE_READ(chunk, va_block, managed_range,
      va_range.va_space, va_space_mm.mm, owner, tgid) == 1;
}
int BPF_PROG(prep, uvm_pmm_gpu_t *pmm, struct list_head *used, struct list_head *unused) {
  struct list_head *first = BPF_CORE_READ(used, next);
  uvm_gpu_chunk_t *chunk = container_of(first, uvm_gpu_chunk_t, list);
  if (first != used && BPF_CORE_READ(chunk, va_block, start) == 1 * 2097152) bpf_uvm_pmm_chunk_move_tail(chunk, used);
  return 0;
})",
      ".uvm_pmm_chunk_activate = (void *)act, .uvm_pmm_chunk_used = (void *)use, .uvm_pmm_eviction_prepare = (void "
      "*)prep"));
  const auto mine = registry->create<Evictor>("mine", {}, 1, 4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    mine->on_allocated(ChunkId{i}, ContentIndex(i + 1));
    mine->on_migrated(ChunkId{i});
  }
  mine->on_migrated(ChunkId{2});  // block 3: stays
  mine->on_migrated(ChunkId{1});  // block 2: to the tail
  std::vector<std::uint32_t> victims;
  mine->on_emptied(ChunkId{3});
  for (int i = 0; i < 4; ++i) {
    const ChunkId victim = mine->select_victim(FakeChunks(4));
    victims.push_back(victim.value);
    mine->on_released(victim);
  }
  EXPECT_THAT(victims, ::testing::ElementsAre(3, 2, 1, 0));
  EXPECT_FALSE(mine->select_victim(FakeChunks(4)).valid());
}

TEST_F(BpfBuild, TakesTheSecondInterface) {
  const auto registry = load(
      "#include <vmlinux.h>\n#include <bpf/bpf_helpers.h>\n#include <bpf/bpf_tracing.h>\n#include \"uvm_types.h\"\n"
      "struct gpu_mem_ops {\n int (*gpu_test_trigger)(const char *, int);\n"
      " int (*gpu_page_prefetch)(uvm_page_index_t, uvm_perf_prefetch_bitmap_tree_t *, uvm_va_block_region_t *, "
      "uvm_va_block_region_t *);\n"
      " int (*gpu_page_prefetch_iter)(uvm_perf_prefetch_bitmap_tree_t *, uvm_va_block_region_t *, "
      "uvm_va_block_region_t *, unsigned int, uvm_va_block_region_t *);\n"
      " int (*gpu_block_activate)(uvm_pmm_gpu_t *, uvm_gpu_chunk_t *, struct list_head *);\n"
      " int (*gpu_block_access)(uvm_pmm_gpu_t *, uvm_gpu_chunk_t *, struct list_head *);\n"
      " int (*gpu_evict_prepare)(uvm_pmm_gpu_t *, struct list_head *, struct list_head *);\n};\n"
      "extern void bpf_gpu_set_prefetch_region(uvm_va_block_region_t *, uvm_page_index_t, uvm_page_index_t) __weak "
      "__ksym;\nextern void bpf_gpu_block_move_head(uvm_gpu_chunk_t *, struct list_head *) __weak __ksym;\n"
      "SEC(\"struct_ops/gpu_page_prefetch\") int BPF_PROG(decide, uvm_page_index_t page, "
      "uvm_perf_prefetch_bitmap_tree_t *tree, uvm_va_block_region_t *max, uvm_va_block_region_t *result) {\n"
      " bpf_gpu_set_prefetch_region(result, page, page + 2); return 1; }\n"
      "SEC(\"struct_ops/gpu_block_activate\") int BPF_PROG(act, uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk, struct "
      "list_head *list) { bpf_gpu_block_move_head(chunk, list); return 1; }\n"
      "SEC(\".struct_ops\") struct gpu_mem_ops ops = {.gpu_page_prefetch = (void *)decide, .gpu_block_activate = (void "
      "*)act};\n");
  EXPECT_TRUE(registry->find(Slot::kEvict, "mine").joint());
  const auto prefetcher = registry->create<Prefetcher>("mine", {}, 1, 4);
  EXPECT_TRUE(BlockUnderTest{*prefetcher}.added(mask_of({3})) == mask_of({4}));
  const auto evictor = registry->create<Evictor>("mine", {}, 1, 4);
  for (std::uint32_t i = 0; i < 3; ++i) {
    evictor->on_allocated(ChunkId{i}, ContentIndex(i));
    evictor->on_migrated(ChunkId{i});
  }
  EXPECT_EQ(evictor->select_victim(FakeChunks(4)), ChunkId{2});
}

// Pages outside the block are refused; a chunk goes to the head; a request for two places at once is refused.
TEST_F(BpfBuild, TakesTheThirdInterface) {
  const auto registry = load(R"(
#include <vmlinux.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "uvm_types.h"
typedef struct { __u8 attempted, conflict; __u64 first, outer; } uvm_bpf_prefetch_decision_t;
struct uvm_gpu_root_chunk_struct;
typedef struct { __u64 owner_id, root_id, generation; __u32 source; } nv_gpu_pmm_snapshot_t;
typedef struct { __u8 attempted, conflict; __u64 destination, position; } nv_gpu_pmm_request_t;
typedef struct {
  uvm_pmm_gpu_t *pmm;
  struct uvm_gpu_root_chunk_struct *root_chunk;
  nv_gpu_pmm_snapshot_t observed;
  nv_gpu_pmm_request_t request;
} uvm_bpf_pmm_decision_ctx_t;
struct gpu_mem_ops {
  int (*gpu_test_trigger)(const char *, int);
  int (*gpu_page_prefetch)(uvm_page_index_t, uvm_perf_prefetch_bitmap_tree_t *, uvm_va_block_region_t *,
                           uvm_bpf_prefetch_decision_t *);
  int (*gpu_page_prefetch_iter)(uvm_perf_prefetch_bitmap_tree_t *, uvm_va_block_region_t *, uvm_va_block_region_t *,
                                unsigned int, uvm_bpf_prefetch_decision_t *);
  int (*gpu_block_activate)(uvm_pmm_gpu_t *, uvm_gpu_chunk_t *, uvm_bpf_pmm_decision_ctx_t *);
  int (*gpu_block_access)(uvm_pmm_gpu_t *, uvm_gpu_chunk_t *, uvm_bpf_pmm_decision_ctx_t *);
  int (*gpu_evict_prepare)(uvm_pmm_gpu_t *, struct list_head *, struct list_head *);
};
extern int bpf_gpu_set_prefetch_region(uvm_bpf_prefetch_decision_t *, __u64, __u64) __weak __ksym;
extern int bpf_gpu_request_reorder(uvm_bpf_pmm_decision_ctx_t *, __u64, __u64) __weak __ksym;
SEC("struct_ops/gpu_page_prefetch")
int BPF_PROG(decide, uvm_page_index_t page, uvm_perf_prefetch_bitmap_tree_t *tree, uvm_va_block_region_t *max,
             uvm_bpf_prefetch_decision_t *decision) {
  if (page == 300) return 2;
  bpf_gpu_set_prefetch_region(decision, page, page + 20);
  return 1;
}
SEC("struct_ops/gpu_page_prefetch_iter")
int BPF_PROG(at_node, uvm_perf_prefetch_bitmap_tree_t *tree, uvm_va_block_region_t *max, uvm_va_block_region_t *node,
             unsigned int counter, uvm_bpf_prefetch_decision_t *decision) {
  if (node->outer - node->first == 64) bpf_gpu_set_prefetch_region(decision, node->first, node->outer);
  return 1;
}
SEC("struct_ops/gpu_block_activate")
int BPF_PROG(act, uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk, uvm_bpf_pmm_decision_ctx_t *decision) {
  if (decision->observed.root_id == (u64)chunk && decision->observed.source == 1) bpf_gpu_request_reorder(decision, 1, 1);
  return 0;
}
SEC("struct_ops/gpu_block_access")
int BPF_PROG(use, uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk, uvm_bpf_pmm_decision_ctx_t *decision) {
  bpf_gpu_request_reorder(decision, 1, 1);
  if (BPF_CORE_READ(chunk, va_block, start) == 2097152) bpf_gpu_request_reorder(decision, 1, 2);
  return 0;
}
SEC(".struct_ops") struct gpu_mem_ops ops = {
    .gpu_page_prefetch = (void *)decide, .gpu_page_prefetch_iter = (void *)at_node, .gpu_block_activate = (void *)act,
    .gpu_block_access = (void *)use};
)");
  const auto prefetcher = registry->create<Prefetcher>("mine", {}, 1, 4);
  EXPECT_TRUE(BlockUnderTest{*prefetcher}.added(mask_of({3})) == PageMask::range(4, 19));
  EXPECT_TRUE(BlockUnderTest{*prefetcher}.added(mask_of({300})) == PageMask::range(256, 64) - mask_of({300}));
  // The request is refused, so the driver treats the fault as a single one.
  EXPECT_TRUE(BlockUnderTest{*prefetcher}.added(mask_of({500})) == PageMask::range(496, 16) - mask_of({500}));
  const auto evictor = registry->create<Evictor>("mine", {}, 1, 4);
  for (std::uint32_t i = 0; i < 3; ++i) {
    evictor->on_allocated(ChunkId{i}, ContentIndex(i));
    evictor->on_migrated(ChunkId{i});
  }
  EXPECT_EQ(evictor->select_victim(FakeChunks(4)), ChunkId{2});
  evictor->on_migrated(ChunkId{0});
  EXPECT_EQ(evictor->select_victim(FakeChunks(4)), ChunkId{0});
  evictor->on_migrated(ChunkId{1});  // asks for two places
  EXPECT_EQ(evictor->select_victim(FakeChunks(4)), ChunkId{0});
}

// The reverse direction: the printed sources can be built, and act first as the driver does.
TEST_F(BpfBuild, BuildsWhatPoliciesAreAsBpf) {
  const auto printed = [&](const std::string& name) {
    const std::string file = folder_.path("printed.bpf.c");
    const int status = std::system((std::string("'") + UVMSIM_COMMAND + "' policies " + name + " --as-bpf >'" + file +
                                    "' 2>'" + folder_.path("said") + "'")
                                       .c_str());
    return status == 0 ? folder_.read("printed.bpf.c") : "";
  };
  EXPECT_THAT(printed("mru"), HasSubstr("Most recently used: the chunk that was used last"));
  EXPECT_THAT(printed("tree_by_process"), HasSubstr("process_threshold"));
  EXPECT_EQ(printed("deepum"), "");
  EXPECT_THAT(folder_.read("said"), HasSubstr("gpu_ext has no hooks for this slot"));
  const auto quota = load(printed("quota"));
  const auto evictor = quota->create<Evictor>("mine", {}, 1, 4);
  for (std::uint32_t i : {2u, 1u, 2u}) evictor->on_migrated(ChunkId{i});
  EXPECT_EQ(evictor->select_victim(FakeChunks(4)), ChunkId{1});
}

// Published sources, if they are present: UVMSIM_GPU_EXT is the folder `extension` of gpu_ext in January 2026.
TEST_F(BpfBuild, BuildsThePoliciesOfGpuExt) {
  const char* folder = std::getenv("UVMSIM_GPU_EXT");
  if (folder == nullptr) GTEST_SKIP() << "UVMSIM_GPU_EXT is not set";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool policy = name.starts_with("eviction_") || name.starts_with("prefetch_");
    if (!policy || !name.ends_with(".bpf.c")) continue;
    const BpfBuildResult result = build_bpf(folder_, entry.path().string());
    EXPECT_TRUE(result.built) << name << ": " << result.errors;
  }
}

}  // namespace
}  // namespace uvmsim::policy
