// SPDX-License-Identifier: Apache-2.0
// Tests of execution traces: one that PyTorch recorded on an H200, the beginning of one of Chakra's own
// (tests/trace/recordings), and others written here.
#include "sim/import/import_chakra.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/common/error.h"
#include "sim/import/operator_schema.h"
#include "sim/import/python_literal.h"
#include "sim/trace/foreign.h"
#include "tests/policy/message_of.h"
#include "tests/report/scratch_folder.h"
#include "tests/trace/imported.h"

namespace uvmsim::trace::import_chakra_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kRecordings = UVMSIM_SOURCE_DIR "/tests/trace/recordings/";

auto import(const std::string& path) { return import_all(ChakraImporter(path)); }

// Returns the bytes that a kernel reads and writes.
std::pair<std::uint64_t, std::uint64_t> bytes_of(const Kernel& kernel) {
  std::uint64_t read = 0, written = 0;
  for (const ObjectAccess& access : kernel.accesses) {
    for (const Extent& extent : access.extents) {
      if (extent.mode != AccessMode::kWrite) read += extent.count * 512;
      if (extent.mode != AccessMode::kRead) written += extent.count * 512;
    }
  }
  return {read, written};
}

// The program trains two steps of a convolution, two linear layers and Adam, batch 32. Its profile has 64 kernels.
TEST(ImportChakra, OperatorsOfATrainingStepBecomeKernels) {
  const auto out = import(kRecordings + "execution_trace_two_steps_h200.json.zst");
  EXPECT_EQ(out.summary.nodes, 367u);
  EXPECT_EQ(out.summary.kernels, 56u);
  EXPECT_EQ(out.summary.covered_kernels, 56u);
  EXPECT_EQ(out.summary.iterations, 2u);
  EXPECT_FALSE(out.summary.durations);
  const std::vector<Kernel> kernels = out.all<Kernel>();
  EXPECT_EQ(kernels[0].name, "aten::cudnn_convolution");
  EXPECT_EQ(kernels[0].coverage, Coverage::kOperatorSchema);
  EXPECT_EQ(bytes_of(kernels[0]),
            (std::pair<std::uint64_t, std::uint64_t>{32 * 3 * 32 * 32 * 4 + 2048, 32 * 16 * 32 * 32 * 4}));
  // In both steps images are copied from the host and the loss to the host.
  const std::vector<Memcpy> copies = out.all<Memcpy>();
  ASSERT_EQ(copies.size(), 4u);
  EXPECT_EQ(copies[0].kind, CopyKind::kHostToDevice);
  EXPECT_EQ(copies[0].bytes, 32u * 3 * 32 * 32 * 4);
  EXPECT_EQ(copies[1].kind, CopyKind::kDeviceToHost);
  EXPECT_TRUE(copies[1].blocking);
  // The parameters and the optimizer's states: each of six sizes occurs three times.
  std::uint64_t weights = 0;
  for (const TensorAlloc& tensor : out.all<TensorAlloc>()) {
    if (tensor.name == "allocated before" && tensor.bytes == 16384u * 128 * 4) ++weights;
  }
  EXPECT_EQ(weights, 3u);
}

// Chakra's converter made it from ResNet-50 on two GPUs; these are its first 300 nodes.
TEST(ImportChakra, ProtobufHasTheKernelsOfTheLinkedProfile) {
  const auto out = import(kRecordings + "chakra_resnet_300_nodes.et.zst");
  EXPECT_EQ(out.summary.nodes, 300u);
  EXPECT_TRUE(out.summary.durations);
  EXPECT_GT(out.summary.kernels, 0u);
  EXPECT_GT(out.summary.copies, 0u);
  EXPECT_EQ(out.summary.left_out, 0u);
  const std::vector<Kernel> kernels = out.all<Kernel>();
  EXPECT_THAT(kernels[0].name, HasSubstr("CatArrayBatchedCopy"));
  EXPECT_EQ(kernels[0].duration_ns, 4000);
  EXPECT_EQ(kernels[0].stream, 7u);
  const auto [read, written] = bytes_of(kernels[0]);
  EXPECT_EQ(written, 53120u * 4 / 512 * 512);  // aten::flatten_dense_tensors -> 53120 floats
  EXPECT_GE(read, 53120u * 4);
}

// The text of nodes as PyTorch writes it.
class ImportChakraText : public ::testing::Test {
 protected:
  static std::string tensor(int storage, int elements, const std::string& device = "cuda:0", int offset = 0) {
    static int count = 0;
    return "[" + std::to_string(++count) + "," + std::to_string(storage) + "," + std::to_string(offset) + "," +
           std::to_string(elements) + ",4,\"" + device + "\"]";
  }
  void node(int id, int parent, const std::string& name, const std::string& schema, const std::string& inputs,
            const std::string& outputs, const std::string& more = "") {
    nodes_ += (nodes_.empty() ? "" : ",") + std::string(R"({"id":)") + std::to_string(id) + R"(,"name":")" + name +
              R"(","ctrl_deps":)" + std::to_string(parent) + more + R"(,"inputs":{"values":[)" + inputs +
              R"(],"shapes":[],"types":[]},"outputs":{"values":[)" + outputs +
              R"(],"shapes":[],"types":[]},"attrs":[{"name":"op_schema","type":"string","value":")" + schema + "\"}]}";
  }
  std::string text() const { return R"({"schema":"1.1.1-chakra.0.0.4","pid":1,"nodes":[)" + nodes_ + "]}"; }
  auto import_text(const std::string& text) {
    folder.write("et.json", text);
    return import(folder.path("et.json"));
  }
  auto import_nodes() { return import_text(text()); }
  std::string about(const std::string& text) {
    return message_of([&] { import_text(text); });
  }
  // Returns the error about a file whose only operator names this tensor.
  std::string about_tensor(const std::string& value) {
    return about(R"({"schema":"1.1.1-chakra.0.0.4","nodes":[{"id":1,"name":"a","inputs":{"values":[)" + value +
                 R"(]},"op_schema":"a(Tensor(a!) x) -> Tensor"}]})");
  }

  const ScratchFolder folder;

 private:
  std::string nodes_;
};

TEST_F(ImportChakraText, OnlyOperatorsThatWriteAreKernels) {
  node(1, 1, "[pytorch|profiler|execution_trace|thread]", "", "", "");
  node(4, 3, "aten::empty", "aten::empty(int[] size) -> Tensor", "[64]", tensor(20, 1024));
  node(5, 3, "aten::as_strided", "aten::as_strided(Tensor(a) self) -> Tensor(a)", tensor(20, 1024), tensor(20, 512));
  node(6, 3, "aten::fill_", "aten::fill_.Scalar(Tensor(a!) self, Scalar v) -> Tensor(a!)", tensor(20, 1024) + ",1",
       tensor(20, 1024));
  node(3, 2, "aten::ones", "aten::ones(int[] size) -> Tensor", "[64]", tensor(20, 1024));
  node(7, 2, "aten::add_", "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
       tensor(10, 1024) + "," + tensor(20, 256, "cuda:0", 256) + ",1", tensor(10, 1024));
  const auto out = import_nodes();
  const std::vector<Kernel> kernels = out.all<Kernel>();
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "aten::fill_");
  EXPECT_EQ(kernels[0].accesses.at(0).extents[0], (Extent{0, 8, AccessMode::kWrite}));
  EXPECT_EQ(kernels[1].name, "aten::add_");
  ASSERT_EQ(kernels[1].accesses.size(), 2u);
  EXPECT_EQ(kernels[1].accesses[0].extents[0], (Extent{0, 8, AccessMode::kReadWrite}));
  EXPECT_EQ(kernels[1].accesses[1].extents[0], (Extent{2, 2, AccessMode::kRead}));  // the second quarter
  EXPECT_EQ(out.summary.earlier_tensors, 1u);                                       // storage 10
  EXPECT_EQ(out.all<TensorAlloc>().at(1).name, "aten::empty");
  EXPECT_EQ(out.all<TensorFree>().size(), 1u);
}

TEST_F(ImportChakraText, AStorageThatIsReturnedAgainIsAnother) {
  const std::string relu = "aten::relu(Tensor self) -> Tensor";
  for (const int elements : {1024, 4096}) {
    node(elements, 2, "aten::relu", relu, tensor(10, elements), tensor(20, elements));
    node(elements + 1, 2, "aten::neg", "aten::neg(Tensor self) -> Tensor", tensor(20, elements), tensor(30, elements));
  }
  const auto out = import_nodes();
  std::vector<std::uint64_t> sizes;
  for (const TensorAlloc& tensor : out.all<TensorAlloc>()) sizes.push_back(tensor.bytes);
  EXPECT_THAT(sizes, ElementsAre(16384u, 4096u, 4096u, 16384u, 16384u));
  EXPECT_EQ(out.all<TensorFree>().size(), 4u);
}

TEST_F(ImportChakraText, KernelsOfALinkedProfileTakeTheirOperatorsTensors) {
  node(3, 3, "ProfilerStep#7", "", "", "");
  node(4, 3, "aten::relu", "aten::relu(Tensor self) -> Tensor", tensor(10, 1024), tensor(20, 1024));
  node(5, 4, "relu_kernel", "", "", "", R"(,"cat":"kernel","ts":10.5,"inclusive_dur":12.25,"stream":9)");
  node(6, 4, "Memset (Device)", "", "", "", R"(,"cat":"gpu_memset","ts":30,"inclusive_dur":1,"stream":9)");
  node(7, 3, "aten::copy_", "aten::copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)",
       tensor(20, 1024) + "," + tensor(50, 1024, "cpu"), tensor(20, 1024));
  node(8, 7, "Memcpy HtoD (Pageable -> Device)", "", "", "",
       R"(,"cat":"gpu_memcpy","ts":50,"inclusive_dur":2,"stream":9)");
  const auto out = import_nodes();
  const std::vector<Kernel> kernels = out.all<Kernel>();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "relu_kernel");
  EXPECT_EQ(kernels[0].duration_ns, 12250);
  EXPECT_EQ(kernels[0].stream, 9u);
  EXPECT_EQ(kernels[0].accesses.size(), 2u);
  ASSERT_EQ(out.all<Memset>().size(), 1u);
  EXPECT_EQ(out.all<Memset>()[0].bytes, 4096u);
  ASSERT_EQ(out.all<Memcpy>().size(), 1u);
  EXPECT_EQ(out.all<Memcpy>()[0].dst.object, kernels[0].accesses[1].object);
  EXPECT_EQ(out.summary.iterations, 1u);
  EXPECT_TRUE(out.summary.durations);
}

TEST_F(ImportChakraText, TheOldestFormHasItsFieldsBesideOneAnother) {
  const std::string types = "[\"Tensor(float)\"]";
  const auto out = import_text(
      R"({"schema":"1.0.1","nodes":[{"name":"aten::neg","id":2,"parent":1,"inputs":[[3,4,0,1024,4]],"input_types":)" +
      types + R"(,"input_shapes":[[1024]],"outputs":[[5,6,0,1024,4]],"output_types":)" + types +
      R"(,"op_schema":"aten::neg(Tensor self) -> Tensor"}]})");
  EXPECT_EQ(out.summary.kernels, 1u);
  EXPECT_EQ(out.all<TensorAlloc>().size(), 2u);
}

TEST_F(ImportChakraText, RefusesWhatCannotBe) {
  EXPECT_THAT(about("{"), HasSubstr("is not JSON"));
  EXPECT_THAT(about("{}"), HasSubstr("it has no nodes"));
  EXPECT_THAT(about(R"({"nodes":[{"id":-1}]})"), HasSubstr("node 1: 'id' is no number from 0 on"));
  EXPECT_THAT(about(R"({"nodes":[{"id":1,"ctrl_deps":"x"}]})"), HasSubstr("'ctrl_deps' is no number"));
  EXPECT_THAT(about(R"({"nodes":[{"id":1,"cat":"kernel","dur":-5}]})"), HasSubstr("a duration of -5 us"));
  EXPECT_THAT(about_tensor(R"([1,2,0,1024,4,"cpu"])"), HasSubstr("no operator has tensors on a GPU"));
  EXPECT_THAT(about_tensor(R"([1,2,0,9000000000000000000,4,"cuda:0"])"), HasSubstr("within its storage; allowed"));
  EXPECT_THAT(about_tensor(R"([1,2,-1,1024,4,"cuda:0"])"), HasSubstr("'offset' is no number from 0 on"));
  EXPECT_THAT(about_tensor(R"([1,2,0,1024,4,"cuda:7000"])"), HasSubstr("device 'cuda:7000'; allowed"));
  EXPECT_THAT(about(R"({"traceEvents": []})"), HasSubstr("trace import kineto"));
  EXPECT_THAT(about(R"({"nodes":)" + std::string(100, '[')), HasSubstr("nested too deep"));
}

TEST_F(ImportChakraText, ACutFileIsRefusedAtEveryByte) {
  node(2, 1, "aten::neg", "aten::neg(Tensor self) -> Tensor", tensor(4, 8), tensor(5, 8));
  const std::string whole = text();
  EXPECT_EQ(import_text(whole).summary.kernels, 1u);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) EXPECT_NE(about(whole.substr(0, bytes)), "") << bytes;
}

// Functions that build messages of protobuf.
std::string bytes_field(int number, const std::string& bytes) {
  std::string out;
  for (std::size_t value : {static_cast<std::size_t>(number) << 3 | 2, bytes.size()}) {
    for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
    out += static_cast<char>(value);
  }
  return out + bytes;
}
std::string number_field(int number, char value) { return {static_cast<char>(number << 3), value}; }
std::string with_length(const std::string& message) { return bytes_field(0, message).substr(1); }

std::string small_protobuf() {
  const std::string on_gpu = bytes_field(10, bytes_field(1, "is_cpu_op") + std::string("\xd8\x01\x00", 3));
  const std::string schema =
      bytes_field(10, bytes_field(1, "op_schema") + bytes_field(29, "aten::neg(Tensor self) -> Tensor"));
  const std::string inputs = bytes_field(8, bytes_field(1, "[[3, 4, 0, 1024, 4, 'cuda:0'], None, (1, -2.5)]") +
                                                bytes_field(3, "['Tensor(float)', 'None', 'Tuple']"));
  const std::string outputs = bytes_field(9, bytes_field(1, "[[5, 6, 0, 1024, 4, 'cuda:0']]"));
  return with_length(bytes_field(1, "0.0.4") + bytes_field(2, bytes_field(1, "schema") + bytes_field(29, "1.0.2"))) +
         with_length(number_field(1, 7) + bytes_field(2, "aten::neg") + inputs + outputs + schema) +
         with_length(number_field(1, 8) + bytes_field(2, "neg_kernel") + bytes_field(4, "\x07") + number_field(7, 12) +
                     inputs + outputs + on_gpu);
}

TEST_F(ImportChakraText, ProtobufIsReadAsItIsWritten) {
  const auto out = import_text(small_protobuf());
  const std::vector<Kernel> kernels = out.all<Kernel>();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "neg_kernel");
  EXPECT_EQ(kernels[0].duration_ns, 12000);
  EXPECT_EQ(bytes_of(kernels[0]), (std::pair<std::uint64_t, std::uint64_t>{4096, 4096}));
}

// A cut between two messages leaves a whole trace, which has operators but no kernels.
TEST_F(ImportChakraText, CutAndDamagedProtobufIsRefusedOrRead) {
  const std::string whole = small_protobuf();
  const auto is_read = [&](const std::string& text) {
    try {
      import_text(text);
      return true;
    } catch (const InputError&) {
      return false;
    }
  };
  std::size_t read = 0;
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) read += is_read(whole.substr(0, bytes)) ? 1 : 0;
  EXPECT_EQ(read, 1u);
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char change : {'\x01', '\x80', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      refused += is_read(damaged) ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 100u);
}

TEST(PythonLiteral, RefusesWhatIsNone) {
  EXPECT_EQ(read_python_literal("[1, -2, 'a\\'b', (True, None), 1.5, <x>]").dump(),
            R"([1,-2,"a'b",[true,null],1.5,"<x>"])");
  for (const char* text : {"", "[", "[1", "'a", "[1 2]", "]", "1 2"}) {
    EXPECT_THROW(read_python_literal(text), InputError) << text;
  }
  EXPECT_THAT(message_of([] { read_python_literal(std::string(100, '[')); }), HasSubstr("nested too deep"));
}

TEST(OperatorSchema, SaysWhatIsWritten) {
  EXPECT_THAT(
      argument_modes("aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"),
      ElementsAre(AccessMode::kRead, AccessMode::kRead, AccessMode::kRead, AccessMode::kWrite));
  EXPECT_THAT(argument_modes("aten::_foreach_add_.List(Tensor(a!)[] self, Tensor[] other) -> ()"),
              ElementsAre(AccessMode::kReadWrite, AccessMode::kRead));
  EXPECT_THAT(argument_modes("aten::f() -> Tensor"), ElementsAre());
  EXPECT_THAT(argument_modes(""), ElementsAre());
  EXPECT_TRUE(moves_no_data("aten::empty_strided"));
  EXPECT_TRUE(overwrites_its_first("aten::copy_(1)"));
  EXPECT_FALSE(overwrites_its_first("aten::add_"));
}

TEST(Foreign, ExecutionTracesAreRecognisedByTheirContent) {
  EXPECT_THAT(describe_foreign(small_protobuf(), "x.uvmt"), HasSubstr("trace import chakra"));
  EXPECT_THAT(describe_foreign(R"({"schema": "1.1.1-chakra.0.0.4", "nodes": []})", "x.uvmt"),
              HasSubstr("trace import chakra"));
  EXPECT_EQ(describe_foreign("\x05hello", "x.uvmt"), "");
}

}  // namespace
}  // namespace uvmsim::trace::import_chakra_test
