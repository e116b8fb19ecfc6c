// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/bpf_build.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "sim/cli/bpf_source.h"
#include "sim/cli/say.h"
#include "sim/common/error.h"
#include "sim/policy/plugin.h"

namespace uvmsim::cli {
namespace {

namespace fs = std::filesystem;

struct BpfInstallation {
  fs::path folder, host;  // the folder has headers and policies; `host` is the library that every plug-in contains
};

// Looks beside the command, in the source tree that it was built from, and in the installation folder.
BpfInstallation find_bpf_installation() {
  std::vector<BpfInstallation> places;
  std::error_code failed;
  const fs::path command = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    const fs::path prefix = command.parent_path().parent_path();
    places.push_back({prefix / "share" / "uvmsim" / "bpf", prefix / "lib" / "uvmsim" / "libuvmsim_bpf_host.a"});
  }
  places.push_back({UVMSIM_SOURCE_BPF, UVMSIM_BUILT_BPF_HOST});
  places.push_back({UVMSIM_INSTALLED_BPF, UVMSIM_INSTALLED_BPF_HOST});
  for (const BpfInstallation& place : places) {
    if (fs::exists(place.folder / "include" / "vmlinux.h", failed) && fs::exists(place.host, failed)) return place;
  }
  std::vector<std::string> looked;
  for (const BpfInstallation& place : places) looked.push_back(place.folder.string() + " with " + place.host.string());
  throw_input_error("no headers for eBPF policies; looked for {}", fmt::join(looked, ", "));
}

// A temporary folder that is removed with its contents.
class BpfScratch {
 public:
  BpfScratch() {
    std::string pattern = (fs::temp_directory_path() / "uvmsim_bpf_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw_input_error("{}: {}", pattern, std::strerror(errno));
    path_ = pattern;
  }
  ~BpfScratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  BpfScratch(const BpfScratch&) = delete;
  BpfScratch& operator=(const BpfScratch&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Returns what the program wrote to standard error if it failed.
std::optional<std::string> run_program(const std::vector<std::string>& words, const std::string& errors, bool verbose) {
  if (verbose) say("{}", fmt::join(words, " "));
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t process = -1;
  const int failed = ::posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return fmt::format("error: {}: {}", words.front(), std::strerror(failed));
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
  return contents(errors);
}

bool in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (::access((fs::path(folder) / program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::string compiler_of(const BpfBuild& build) {
  if (!build.compiler.empty()) return build.compiler;
  if (const char* variable = std::getenv("CC"); variable != nullptr && *variable != '\0') return variable;
  for (const char* known : {"gcc", "clang", "cc"}) {
    if (in_path(known)) return known;
  }
  throw_input_error("no compiler for C; looked for gcc, clang and cc; --compiler names another");
}

bool is_clang(const std::string& compiler) {
  return fs::path(compiler).filename().string().find("clang") != std::string::npos;
}

// Returns the first error of a compiler's output, without the text around it.
std::string first_error(const std::string& output) {
  std::size_t begin = 0;
  while (begin < output.size()) {
    const std::size_t end = std::min(output.find('\n', begin), output.size());
    const std::string line = output.substr(begin, end - begin);
    if (const std::size_t at = line.find("error: "); at != std::string::npos) {
      std::string place = line.substr(0, at);
      if (place.ends_with("fatal ")) place.resize(place.size() - 6);
      return place + line.substr(at + 7);
    }
    begin = end + 1;
  }
  return output.substr(0, output.find('\n'));
}

// An ELF object file, to find symbols that it lacks and state that it keeps outside of maps.
class BpfObject {
 public:
  explicit BpfObject(std::string bytes) : bytes_(std::move(bytes)) {
    const auto header = at<Elf64_Ehdr>(0);
    for (unsigned i = 0; i < header.e_shnum; ++i) {
      sections_.push_back(at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
    }
    names_ = sections_.at(header.e_shstrndx);
  }

  template <class F>
  void for_each_symbol(F&& f) const {
    for (const Elf64_Shdr& table : sections_) {
      if (table.sh_type != SHT_SYMTAB) continue;
      for (std::uint64_t i = 1; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
        const auto symbol = at<Elf64_Sym>(table.sh_offset + i * sizeof(Elf64_Sym));
        f(symbol, text(sections_.at(table.sh_link), symbol.st_name));
      }
    }
  }
  // Returns whether a symbol is a variable that programs may write.
  bool writable(const Elf64_Sym& symbol) const {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx >= sections_.size()) return false;
    const Elf64_Shdr& section = sections_[symbol.st_shndx];
    if ((section.sh_flags & SHF_WRITE) == 0) return false;
    const std::string name = text(names_, section.sh_name);
    return name.starts_with(".data") && !name.starts_with(".data.rel.ro") ? true : name.starts_with(".bss");
  }

 private:
  template <class Type>
  Type at(std::uint64_t offset) const {
    Type value{};
    if (offset + sizeof value > bytes_.size()) throw_input_error("the compiler's object file is cut off");
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string text(const Elf64_Shdr& strings, std::uint64_t offset) const {
    return bytes_.c_str() + std::min<std::uint64_t>(strings.sh_offset + offset, bytes_.size());
  }

  std::string bytes_;
  std::vector<Elf64_Shdr> sections_;
  Elf64_Shdr names_{};
};

void check_object(const std::string& source, const std::string& object) {
  constexpr std::string_view kKnown[] = {"uvmsim_bpf_", "__asan_", "__ubsan_", "mem", "str", "_GLOBAL_OFFSET_TABLE_"};
  const BpfObject file(contents(object));
  file.for_each_symbol([&](const Elf64_Sym& symbol, const std::string& name) {
    if (file.writable(symbol)) {
      throw_input_error(
          "{}: variable '{}' would keep its value from one call to the next and from one run to another; "
          "allowed: constants, and maps",
          source, name);
    }
    if (symbol.st_shndx != SHN_UNDEF || name.empty()) return;
    const bool known = std::any_of(std::begin(kKnown), std::end(kKnown),
                                   [&](std::string_view prefix) { return name.starts_with(prefix); });
    if (!known) throw_input_error("{}: needs {}(), which the simulated driver does not have", source, name);
  });
}

std::uint64_t number_of(const std::string& setting, std::string_view text) {
  const bool hexadecimal = text.starts_with("0x");
  const std::string_view digits = hexadecimal ? text.substr(2) : text;
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    throw_input_error("--map {}: '{}' is no number; allowed: NAME[KEY]=VALUE with whole numbers", setting, text);
  }
  return number;
}

// Returns the C initialiser of a setting: {"config", 0, 5},
std::string initialiser_of(const std::string& setting, const BpfSource& source) {
  const std::size_t open = setting.find('['), close = setting.find("]=");
  if (open == std::string::npos || close == std::string::npos || close < open) {
    throw_input_error("--map {}: allowed: NAME[KEY]=VALUE, such as config[0]=5", setting);
  }
  const std::string map = setting.substr(0, open);
  std::vector<std::string> names;
  for (const BpfMapDeclaration& known : source.maps) {
    if (known.kind != BpfMapDeclaration::Kind::kRing) names.push_back(known.name);
  }
  if (std::find(names.begin(), names.end(), map) == names.end()) {
    throw_input_error("--map {}: the policy has no map '{}'; allowed: {}", setting, map,
                      names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  }
  const std::string_view text = setting;
  return fmt::format("{{\"{}\", {}u, {}u}},", map, number_of(setting, text.substr(open + 1, close - open - 1)),
                     number_of(setting, text.substr(close + 2)));
}

// Returns the text that is compiled after the policy's: end_of_policy.h with the macros that it needs.
std::string end_of_policy(const BpfBuild& build, const BpfSource& source) {
  std::string text = "\n# 1 \"end of the policy\"\n";
  if (!source.has_driver_types) text += "#include <uvm_types.h>\n";
  if (!source.operations.empty()) text += fmt::format("#define UVMSIM_OPS {}\n", source.operations);
  text += fmt::format("#define UVMSIM_OPS_V{}\n", source.interface_version);
  text += "#define UVMSIM_MAPS ";
  for (const BpfMapDeclaration& map : source.maps) {
    using Kind = BpfMapDeclaration::Kind;
    const char* const macro = map.kind == Kind::kRing    ? "UVMSIM_RING"
                              : map.kind == Kind::kSized ? "UVMSIM_MAP_BY_SIZE"
                                                         : "UVMSIM_MAP";
    text += fmt::format("{}({}) ", macro, map.name);
  }
  text += "\n#define UVMSIM_SETTINGS ";
  for (const std::string& setting : build.settings) text += initialiser_of(setting, source);
  text += "\n#define UVMSIM_PROBES ";
  for (const auto& [member, function] : source.probes) text += fmt::format(".{} = (void *){}, ", member, function);
  return text + fmt::format(
                    "\n#define UVMSIM_NAME \"{}\"\n#define UVMSIM_SOURCE \"{}\"\n"
                    "#include <uvmsim/end_of_policy.h>\n",
                    build.name, fs::path(build.source).filename().string());
}

std::vector<std::string> compile_options(const std::string& compiler, const BpfInstallation& installation) {
  std::vector<std::string> options{
      "-std=gnu11", "-I" + (installation.folder / "include").string(), "-D__TARGET_ARCH_x86",
      "-DBPF_NO_PRESERVE_ACCESS_INDEX", "-Wno-unknown-pragmas", "-Werror=implicit-function-declaration",
      // These match the kernel's machine: numbers wrap, types may alias; errors unwind through these functions.
      "-O2", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing", "-fwrapv", "-fexceptions", "-fno-stack-protector",
      // Every access calls a check (bpf/host/checks.cpp), and so does every index of an array.
      "-fsanitize=kernel-address,bounds", "-fno-sanitize-recover=bounds"};
  const std::vector<std::string> checks =
      is_clang(compiler) ? std::vector<std::string>{"-mllvm", "-asan-instrumentation-with-call-threshold=0",
                                                    "-mllvm", "-asan-stack=0",
                                                    "-mllvm", "-asan-globals=0"}
                         : std::vector<std::string>{"--param", "asan-instrumentation-with-call-threshold=0",
                                                    "--param", "asan-stack=0",
                                                    "--param", "asan-globals=0"};
  options.insert(options.end(), checks.begin(), checks.end());
  return options;
}

}  // namespace

std::string bpf_folder() { return find_bpf_installation().folder.string(); }

std::string bpf_policy_name(const std::string& source) {
  std::string name = fs::path(source).filename().string();
  name.resize(std::min(name.find('.'), name.size()));
  for (char& c : name) {
    c = std::isalnum(static_cast<unsigned char>(c)) != 0
            ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
            : '_';
  }
  return name.empty() || std::isalpha(static_cast<unsigned char>(name.front())) == 0 ? "bpf_" + name : name;
}

policy::Registry build_bpf_policy(const BpfBuild& build) {
  std::error_code failed;
  if (!fs::is_regular_file(build.source, failed)) {
    throw_input_error("{}: no such file; allowed: the source of a policy, such as eviction_mru.bpf.c", build.source);
  }
  const BpfInstallation installation = find_bpf_installation();
  const std::string compiler = compiler_of(build);
  const BpfScratch scratch;
  const std::string errors = scratch.file("errors"), text = scratch.file("policy.i"), unit = scratch.file("policy.c"),
                    object = scratch.file("policy.o"), library = scratch.file("policy.so");
  const std::vector<std::string> options = compile_options(compiler, installation);
  const auto run = [&](const std::vector<std::string>& added) {
    std::vector<std::string> words{compiler};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), added.begin(), added.end());
    if (const auto wrong = run_program(words, errors, build.verbose)) throw InputError(first_error(*wrong));
  };

  run({"-include", "vmlinux.h", "-E", "-x", "c", build.source, "-o", text});
  const std::string preprocessed = contents(text);
  const BpfSource source = read_bpf_source(build.source, preprocessed);
  std::ofstream(unit, std::ios::binary) << preprocessed << end_of_policy(build, source);
  run({"-I" + fs::absolute(build.source).parent_path().string(), "-c", unit, "-o", object});
  check_object(build.source, object);
  const std::vector<std::string> link{
      compiler, "-shared", "-o", library, object, "-Wl,-u,uvmsim_policy_plugin", installation.host.string()};
  if (const auto wrong = run_program(link, errors, build.verbose)) throw InputError(first_error(*wrong));

  policy::Registry registry;
  policy::load_plugin(registry, library);

  const std::string beside = build.output + ".new";
  fs::copy_file(library, beside, fs::copy_options::overwrite_existing, failed);
  if (!failed) fs::rename(beside, build.output, failed);
  if (failed) {
    std::error_code ignored;
    fs::remove(beside, ignored);
    throw_input_error("{}: {}", build.output, failed.message());
  }
  return registry;
}

}  // namespace uvmsim::cli
