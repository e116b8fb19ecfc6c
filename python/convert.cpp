// SPDX-License-Identifier: Apache-2.0
#include "python/convert.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace uvmsim::python {

namespace py = pybind11;

namespace {

constexpr std::size_t kMaskBytes = kPagesPerBlock / 8;

[[noreturn]] void refuse(const py::handle& value, const std::string& what, const char* allowed) {
  throw py::type_error(fmt::format("{} returned {}; allowed: {}", what,
                                   py::repr(py::type::handle_of(value)).cast<std::string>(), allowed));
}

}  // namespace

py::object to_python(const PageMask& mask) {
  std::array<unsigned char, kMaskBytes> bytes;
  for (unsigned page = 0; page < kPagesPerBlock; page += 8) {
    bytes[page / 8] = static_cast<unsigned char>(mask.word(page / 64) >> (page % 64));
  }
  static PyObject* const from_bytes = py::object(py::type::of(py::int_(0)).attr("from_bytes")).release().ptr();
  return py::handle(from_bytes)(py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "little");
}

PageMask to_mask(const py::handle& value, const std::string& what) {
  if (!PyLong_Check(value.ptr())) refuse(value, what, "an int with bit p for page p of the block");
  py::bytes bytes;
  try {
    bytes = value.attr("to_bytes")(kMaskBytes, "little");
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_OverflowError)) throw;
    throw py::value_error(fmt::format("{} returned {}; allowed: at least 0, and pages 0 to {}", what,
                                      py::repr(value).cast<std::string>(), kPagesPerBlock - 1));
  }
  const std::string_view view = bytes;
  PageMask mask;
  for (unsigned i = 0; i < kMaskBytes; ++i) {
    const auto byte = static_cast<unsigned char>(view[i]);
    if (byte == 0xff) mask.set_range(i * 8, 8);
    for (unsigned bit = 0; byte != 0xff && byte >> bit != 0; ++bit) {
      if ((byte >> bit & 1) != 0) mask.set(i * 8 + bit);
    }
  }
  return mask;
}

py::object to_python(ChunkId chunk) { return chunk.valid() ? py::object(py::int_(chunk.value)) : py::none(); }

ChunkId to_chunk(const py::handle& value, const std::string& what) {
  if (value.is_none()) return {};
  if (!PyLong_Check(value.ptr())) refuse(value, what, "a chunk's number, or None");
  const long long number = PyLong_AsLongLong(value.ptr());
  if (PyErr_Occurred() != nullptr || number < 0 || number >= ChunkId::kNone) {
    PyErr_Clear();
    throw py::value_error(
        fmt::format("{} returned {}; allowed: a chunk's number, or None", what, py::repr(value).cast<std::string>()));
  }
  return {static_cast<std::uint32_t>(number)};
}

}  // namespace uvmsim::python
