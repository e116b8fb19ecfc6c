// SPDX-License-Identifier: Apache-2.0
// Copies and sets.
#include "tracer/access/call_events.h"
#include "tracer/access/driver_calls.h"
#include "tracer/access/driver_params.h"

namespace uvmtrace::access {

namespace {

const char* copy_kind(const Allocations& allocations, std::uint64_t dst, std::uint64_t src) {
  const auto on_device = [&](std::uint64_t address) {
    const std::optional<Allocation> found = allocations.find(address);
    return found && std::string_view(found->kind) != "pinned";
  };
  const bool to_device = on_device(dst);
  const bool from_device = on_device(src);
  if (to_device) return from_device ? "dtod" : "htod";
  return from_device ? "dtoh" : "htoh";
}

void copied(const CallEntry& entry, const char* kind, std::uint64_t dst, std::uint64_t src, std::uint64_t bytes,
            CUstream stream, std::uint64_t correlation) {
  JsonLine line = start_event("memcpy");
  line.number("corr", correlation).number("dst", dst).number("src", src).number("bytes", bytes).text("kind", kind);
  line.boolean("async", entry.async).number("stream", stream_number(entry.async ? stream : nullptr));
  finish_event(std::move(line));
}

// CUDA_MEMCPY2D and CUDA_MEMCPY3D have equal names for their fields.
template <typename Copy>
void copied_rows(const CallEntry& entry, const Copy& c, std::uint64_t dst, std::uint64_t src, std::uint64_t rows,
                 CUstream stream) {
  static constexpr const char* kKinds[2][2] = {{"htoh", "htod"}, {"dtoh", "dtod"}};
  const bool unified = c.srcMemoryType == CU_MEMORYTYPE_UNIFIED || c.dstMemoryType == CU_MEMORYTYPE_UNIFIED;
  const char* const kind =
      unified ? "unknown" : kKinds[c.srcMemoryType != CU_MEMORYTYPE_HOST][c.dstMemoryType != CU_MEMORYTYPE_HOST];
  JsonLine line = start_event("memcpy");
  line.number("corr", next_correlation()).number("dst", dst).number("src", src);
  line.number("bytes", c.WidthInBytes * rows).text("kind", kind);
  line.boolean("async", entry.async).number("stream", stream_number(entry.async ? stream : nullptr));
  line.number("rows", rows).number("row_bytes", c.WidthInBytes);
  line.number("dst_pitch", c.dstPitch).number("src_pitch", c.srcPitch);
  finish_event(std::move(line));
}

std::uint64_t plane_address(CUmemorytype type, const void* host, CUdeviceptr device, std::uint64_t offset) {
  if (type == CU_MEMORYTYPE_ARRAY) return 0;
  return (type == CU_MEMORYTYPE_HOST ? number_of(host) : device) + offset;
}

template <typename Params>
void set_line(const CallEntry& entry, const void* parameters, std::uint64_t element) {
  const auto& p = *static_cast<const Params*>(parameters);
  JsonLine line = start_event("memset");
  line.number("corr", next_correlation()).number("va", p.dst).number("bytes", p.count * element);
  line.number("stream", stream_number(entry.async ? p.stream : nullptr)).boolean("async", entry.async);
  finish_event(std::move(line));
}

void set_rows(const CallEntry& entry, const void* parameters, std::uint64_t element) {
  const auto& p = *static_cast<const params::Set2D*>(parameters);
  JsonLine line = start_event("memset");
  line.number("corr", next_correlation()).number("va", p.dst).number("bytes", p.width * element * p.height);
  line.number("stream", stream_number(entry.async ? p.stream : nullptr)).boolean("async", entry.async);
  line.number("rows", p.height).number("row_bytes", p.width * element).number("pitch", p.pitch);
  finish_event(std::move(line));
}

}  // namespace

bool on_copy(const CallEntry& entry, const void* parameters, const Allocations& allocations) {
  switch (entry.call) {
    case Call::kCopyHtoD:
    case Call::kCopyDtoH:
    case Call::kCopyDtoD:
    case Call::kCopyAny: {
      // The struct of synchronous calls ends before the stream, and copied() does not read it for them.
      const auto& p = *static_cast<const params::Copy*>(parameters);
      const CUstream stream = entry.async ? p.stream : nullptr;
      const char* const kind = entry.call == Call::kCopyHtoD   ? "htod"
                               : entry.call == Call::kCopyDtoH ? "dtoh"
                               : entry.call == Call::kCopyDtoD ? "dtod"
                                                               : copy_kind(allocations, p.dst, p.src);
      copied(entry, kind, p.dst, p.src, p.bytes, stream, next_correlation());
      return true;
    }
    case Call::kCopyPeer: {
      const auto& p = *static_cast<const params::CopyPeer*>(parameters);
      copied(entry, "dtod", p.dst, p.src, p.bytes, entry.async ? p.stream : nullptr, next_correlation());
      return true;
    }
    case Call::kCopy2D: {
      const auto& p = *static_cast<const params::Copy2D*>(parameters);
      const CUDA_MEMCPY2D& c = *p.copy;
      copied_rows(entry, c, plane_address(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstY * c.dstPitch + c.dstXInBytes),
                  plane_address(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcY * c.srcPitch + c.srcXInBytes), c.Height,
                  entry.async ? p.stream : nullptr);
      return true;
    }
    case Call::kCopy3D: {
      const auto& p = *static_cast<const params::Copy3D*>(parameters);
      const CUDA_MEMCPY3D& c = *p.copy;
      const std::uint64_t dst = (c.dstZ * c.dstHeight + c.dstY) * c.dstPitch + c.dstXInBytes;
      const std::uint64_t src = (c.srcZ * c.srcHeight + c.srcY) * c.srcPitch + c.srcXInBytes;
      copied_rows(entry, c, plane_address(c.dstMemoryType, c.dstHost, c.dstDevice, dst),
                  plane_address(c.srcMemoryType, c.srcHost, c.srcDevice, src), c.Height * c.Depth,
                  entry.async ? p.stream : nullptr);
      return true;
    }
    case Call::kCopyBatch:
    case Call::kCopyBatch2: {
      // Both structs begin with the same fields.
      const auto& p = *static_cast<const params::CopyBatch2*>(parameters);
      const CUstream stream =
          entry.call == Call::kCopyBatch2 ? p.stream : static_cast<const params::CopyBatch*>(parameters)->stream;
      const std::uint64_t correlation = next_correlation();
      for (std::size_t i = 0; i < p.count; ++i) {
        copied(entry, copy_kind(allocations, p.dsts[i], p.srcs[i]), p.dsts[i], p.srcs[i], p.bytes[i], stream,
               correlation);
      }
      return true;
    }
    default:
      return false;
  }
}

bool on_set(const CallEntry& entry, const void* parameters) {
  switch (entry.call) {
    case Call::kSet8:
      set_line<params::Set8>(entry, parameters, 1);
      return true;
    case Call::kSet16:
      set_line<params::Set16>(entry, parameters, 2);
      return true;
    case Call::kSet32:
      set_line<params::Set32>(entry, parameters, 4);
      return true;
    case Call::kSet2D8:
      set_rows(entry, parameters, 1);
      return true;
    case Call::kSet2D16:
      set_rows(entry, parameters, 2);
      return true;
    case Call::kSet2D32:
      set_rows(entry, parameters, 4);
      return true;
    default:
      return false;
  }
}

}  // namespace uvmtrace::access
