// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/align.h"

#include <algorithm>

namespace uvmtrace {

namespace {

using Position = std::int64_t;

// Number of steps after which the search is given up: a few seconds. Two passes of one program need few steps.
constexpr std::uint64_t kMaxSteps = std::uint64_t{1} << 29;

class Search {
 public:
  Search(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) : a_(a), b_(b) {
    const std::size_t size = 2 * (a.size() + b.size()) + 3;
    forward_.resize(size);
    backward_.resize(size);
  }

  // Appends the pairs of a[a_begin, a_end) and b[b_begin, b_end).
  bool solve(Position a_begin, Position a_end, Position b_begin, Position b_end, Alignment& out) {
    while (a_begin < a_end && b_begin < b_end && equal(a_begin, b_begin)) add(a_begin++, b_begin++, out);
    Position tail = 0;
    while (a_begin < a_end && b_begin < b_end && equal(a_end - 1, b_end - 1)) {
      --a_end;
      --b_end;
      ++tail;
    }
    bool whole = true;
    if (a_begin < a_end && b_begin < b_end) {
      Position a_middle = 0, b_middle = 0;
      whole = split(a_begin, a_end, b_begin, b_end, a_middle, b_middle) &&
              solve(a_begin, a_middle, b_begin, b_middle, out) && solve(a_middle, a_end, b_middle, b_end, out);
    }
    for (Position i = 0; i < tail; ++i) add(a_end + i, b_end + i, out);
    return whole;
  }

 private:
  bool equal(Position i, Position j) const {
    return a_[static_cast<std::size_t>(i)] == b_[static_cast<std::size_t>(j)];
  }
  static void add(Position i, Position j, Alignment& out) {
    out.pairs.emplace_back(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
  }

  // Finds a point on a shortest edit path, away from both corners. Both ranges must be non-empty and differ at both
  // ends.
  bool split(Position a_begin, Position a_end, Position b_begin, Position b_end, Position& a_middle,
             Position& b_middle) {
    const Position n = a_end - a_begin, m = b_end - b_begin;
    const Position delta = n - m;
    const Position origin = n + m + 1;  // index of diagonal 0 in the arrays
    const auto forward = [&](Position k) -> Position& { return forward_[static_cast<std::size_t>(origin + k)]; };
    const auto backward = [&](Position k) -> Position& { return backward_[static_cast<std::size_t>(origin + k)]; };
    forward(1) = 0;
    backward(1) = 0;
    for (Position d = 0; d <= (n + m + 1) / 2; ++d) {
      steps_ += static_cast<std::uint64_t>(d) + 1;
      if (steps_ > kMaxSteps) return false;
      for (Position k = -d; k <= d; k += 2) {
        Position x = k == -d || (k != d && forward(k - 1) < forward(k + 1)) ? forward(k + 1) : forward(k - 1) + 1;
        const Position start = x;
        while (x < n && x - k < m && equal(a_begin + x, b_begin + x - k)) ++x;
        steps_ += static_cast<std::uint64_t>(x - start);
        forward(k) = x;
        const Position mirrored = delta - k;
        if (delta % 2 != 0 && mirrored >= -(d - 1) && mirrored <= d - 1 && x + backward(mirrored) >= n) {
          a_middle = a_begin + x;
          b_middle = b_begin + x - k;
          return inside(a_begin, a_end, b_begin, b_end, a_middle, b_middle);
        }
      }
      for (Position k = -d; k <= d; k += 2) {
        Position x = k == -d || (k != d && backward(k - 1) < backward(k + 1)) ? backward(k + 1) : backward(k - 1) + 1;
        const Position start = x;
        while (x < n && x - k < m && equal(a_end - 1 - x, b_end - 1 - (x - k))) ++x;
        steps_ += static_cast<std::uint64_t>(x - start);
        backward(k) = x;
        const Position mirrored = delta - k;
        if (delta % 2 == 0 && mirrored >= -d && mirrored <= d && x + forward(mirrored) >= n) {
          a_middle = a_end - x;
          b_middle = b_end - (x - k);
          return inside(a_begin, a_end, b_begin, b_end, a_middle, b_middle);
        }
      }
    }
    return false;
  }

  // The point is out of range only if nothing is common: then there is nothing to pair, and any point inside can be
  // used.
  static bool inside(Position a_begin, Position a_end, Position b_begin, Position b_end, Position& a_middle,
                     Position& b_middle) {
    a_middle = std::clamp(a_middle, a_begin, a_end);
    b_middle = std::clamp(b_middle, b_begin, b_end);
    if ((a_middle == a_begin && b_middle == b_begin) || (a_middle == a_end && b_middle == b_end)) {
      a_middle = a_end;
      b_middle = b_begin;
    }
    return true;
  }

  const std::vector<std::uint64_t>& a_;
  const std::vector<std::uint64_t>& b_;
  std::vector<Position> forward_, backward_;  // furthest x on each diagonal, from either end of the ranges
  std::uint64_t steps_ = 0;
};

Alignment align_ends(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  Alignment out;
  out.whole = false;
  const std::size_t common = std::min(a.size(), b.size());
  std::size_t front = 0;
  while (front < common && a[front] == b[front]) {
    out.pairs.emplace_back(front, front);
    ++front;
  }
  std::size_t back = 0;
  while (back < common - front && a[a.size() - 1 - back] == b[b.size() - 1 - back]) ++back;
  for (; back > 0; --back) out.pairs.emplace_back(a.size() - back, b.size() - back);
  return out;
}

// Returns the lengths of the longest similar ends of a and b; the search is Myers' from the back, without the paths.
std::pair<std::size_t, std::size_t> similar_ends(const std::vector<std::uint64_t>& a,
                                                 const std::vector<std::uint64_t>& b, std::uint32_t thousandths) {
  const auto n = static_cast<Position>(a.size()), m = static_cast<Position>(b.size());
  // If there are more differences than this, fewer elements are common than requested.
  const Position most = 2 * std::max(n, m) * (1000 - static_cast<Position>(thousandths)) / 1000 + 1;
  const Position origin = most + 1;  // index of diagonal 0 in the array
  std::vector<Position> furthest(static_cast<std::size_t>(2 * most + 3));
  const auto at = [&](Position k) -> Position& { return furthest[static_cast<std::size_t>(origin + k)]; };
  std::pair<std::size_t, std::size_t> best{0, 0};
  Position best_common = 0;
  std::uint64_t steps = 0;
  for (Position d = 0; d <= most; ++d) {
    steps += static_cast<std::uint64_t>(d) + 1;
    for (Position k = -d; k <= d; k += 2) {
      Position x = d == 0 ? 0 : k == -d || (k != d && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1;
      const Position start = x;
      while (x < n && x - k < m &&
             a[static_cast<std::size_t>(n - 1 - x)] == b[static_cast<std::size_t>(m - 1 - x + k)]) {
        ++x;
      }
      steps += static_cast<std::uint64_t>(x - start);
      at(k) = x;
      const Position y = x - k, common = (x + y - d) / 2;
      if (x <= n && y >= 0 && y <= m && common > best_common &&
          common * 1000 >= std::max(x, y) * static_cast<Position>(thousandths)) {
        best_common = common;
        best = {static_cast<std::size_t>(x), static_cast<std::size_t>(y)};
      }
    }
    if (steps > kMaxSteps) break;
  }
  return best;
}

}  // namespace

Alignment align_ends_of(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b,
                        std::uint32_t thousandths) {
  const auto [x, y] = similar_ends(a, b, thousandths);
  const std::size_t a_begin = a.size() - x, b_begin = b.size() - y;
  Alignment out = align({a.begin() + static_cast<std::ptrdiff_t>(a_begin), a.end()},
                        {b.begin() + static_cast<std::ptrdiff_t>(b_begin), b.end()});
  for (auto& [i, j] : out.pairs) {
    i += a_begin;
    j += b_begin;
  }
  return out;
}

Alignment align(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  Alignment out;
  Search search(a, b);
  if (search.solve(0, static_cast<Position>(a.size()), 0, static_cast<Position>(b.size()), out)) return out;
  return align_ends(a, b);
}

}  // namespace uvmtrace
