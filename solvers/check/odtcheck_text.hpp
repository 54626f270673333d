// Files, texts, and rows as CSV, as odtcheck reads them; and how it says what is wrong.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

// Only speed: functions that take most of the time have all optimisations, whatever the others
// have, and where the machine can, the loops over 32 lanes also exist for wider vectors.
#if defined(__GNUC__) && !defined(__clang__)
#define QUICK __attribute__((optimize("O3")))
#else
#define QUICK
#endif
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && \
    !defined(__SANITIZE_ADDRESS__)
#define WIDE QUICK __attribute__((target_clones("avx2", "default")))
#else
#define WIDE QUICK
#endif

namespace {

using Int = std::int64_t;
using Index = std::uint32_t;
using Small = std::int32_t;
__extension__ typedef __int128 Wide;
using std::size_t;
using std::string;
using std::vector;
constexpr Int kLargest = Int{1} << 53;  // sums of losses stay below; nothing overflows

struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void need(bool holds, const string& what) {
  if (!holds) throw Unreadable(what);
}
void demand(bool holds, const char* what) {
  if (!holds) throw Refused(what);
}

// ---- texts: fields of a line are parted by tabs; a backslash escapes tab, line end and itself

vector<string> fields(const string& line) {
  vector<string> found(1);
  for (size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (c == '\t') {
      found.emplace_back();
      continue;
    }
    if (c == '\\' && i + 1 < line.size()) {
      c = line[++i];
      c = c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
    }
    found.back() += c;
  }
  return found;
}

Int integer(const string& text, Int most = kLargest - 1) {
  need(!text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == string::npos,
       "not a whole number: " + text);
  need(std::stoll(text) <= most, "a number is too large: " + text);
  return std::stoll(text);
}

double number(const string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  need(!text.empty() && !*end && std::isfinite(value), "not a number: " + text);
  return value;
}

// Columns of comma-separated cells; quoted ones may hold commas, line ends and doubled quotes.
// Blanks around a cell do not count.
std::map<string, vector<string>> read_table(const string& text, char separator) {
  vector<vector<string>> lines(1, vector<string>(1));
  bool quoted = false, any = false;
  for (size_t i = text.compare(0, 3, "\xef\xbb\xbf") == 0 ? 3 : 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : '\n';
    string& cell = lines.back().back();
    if (quoted && (c != '"' || (i + 1 < text.size() && text[i + 1] == '"'))) {
      need(i < text.size(), "a quote in the data is not closed");
      cell += c;
      i += c == '"';
    } else if (c == '"') {
      quoted = !quoted;
      any = true;
    } else if (c == '\n') {
      if (any) lines.emplace_back();
      lines.back().assign(1, "");
      any = false;
    } else if (c != '\r') {
      any = true;
      if (c == separator)
        lines.back().emplace_back();
      else
        cell += c;
    }
  }
  lines.pop_back();
  need(lines.size() > 1, "the data have no rows");
  std::map<string, vector<string>> columns;
  for (const auto& line : lines) {
    need(line.size() == lines[0].size(),
         "a row of the data has more or fewer cells than the first");
    for (size_t i = 0; &line != &lines[0] && i < line.size(); ++i) {
      const size_t from = line[i].find_first_not_of(" \t"), to = line[i].find_last_not_of(" \t");
      columns[lines[0][i]].push_back(from == string::npos ? ""
                                                          : line[i].substr(from, to + 1 - from));
    }
  }
  for (const auto& column : columns)
    need(column.second.size() + 1 == lines.size(), "two columns have one name");
  return columns;
}

// ---- files

// The lines of a problem, without those that say nothing of it: who wrote it, and the tree.
string stated(const string& text) {
  string kept;
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    const string line = text.substr(at, end - at), word = fields(line)[0];
    if (word != "made" && word != "leaf" && word != "split" && !word.empty()) kept += line + '\n';
  }
  return kept;
}

string slurp(const string& path) {
  std::ifstream in(path, std::ios::binary);
  need(in.good(), "cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace
