// Damages certificates and their rows, and has odtcheck read each of them within this process.
//
//     c++ -O1 -g -std=c++17 -fsanitize=address,undefined -fno-sanitize-recover=all
//         -I solvers/check tests/fuzz_odtcheck.cpp -o fuzz
//     ./fuzz FOLDER COUNT SEED     # FOLDER holds NAME.cert and NAME.cert.csv
//
// Bytes, numbers of the steps, and lines, fields and numbers of the text are changed. The last
// input lies in FOLDER as damaged.cert and damaged.cert.csv, where a crash leaves it.
#define main odtcheck_main
#include "odtcheck.cpp"
#undef main

#include <sys/time.h>

#include <filesystem>
#include <random>

namespace {

using Random = std::mt19937_64;

size_t below(Random& random, size_t n) { return n < 2 ? 0 : random() % n; }

void write_file(const string& path, const string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A number at which programs err.
string odd_number(Random& random) {
  static const char* const kOdd[] = {"0",
                                     "1",
                                     "2",
                                     "-1",
                                     "-0",
                                     "3",
                                     "31",
                                     "32",
                                     "63",
                                     "64",
                                     "255",
                                     "65535",
                                     "65536",
                                     "2147483647",
                                     "2147483648",
                                     "4294967295",
                                     "4294967296",
                                     "9007199254740991",
                                     "9007199254740992",
                                     "-9007199254740991",
                                     "9223372036854775807",
                                     "999999999999999999",
                                     "1e308",
                                     "-1e308",
                                     "1e-320",
                                     "0.5",
                                     "nan",
                                     "inf",
                                     "",
                                     "x",
                                     "0x1",
                                     "1x3",
                                     "2x9999999999"};
  return kOdd[below(random, sizeof kOdd / sizeof *kOdd)];
}

vector<string> parted(const string& text, char at) {
  vector<string> found(1);
  for (char c : text)
    if (c == at)
      found.emplace_back();
    else
      found.back() += c;
  return found;
}

string joined(const vector<string>& parts, char by) {
  string text;
  for (size_t i = 0; i < parts.size(); ++i) text += (i ? string(1, by) : "") + parts[i];
  return text;
}

// One change of some lines of fields.
string changed_lines(const string& text, char separator, Random& random) {
  vector<string> lines = parted(text, '\n');
  const size_t at = below(random, lines.size()), other = below(random, lines.size());
  vector<string> cells = parted(lines[at], separator);
  const size_t cell = below(random, cells.size());
  switch (below(random, 8)) {
    case 0:
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(other), lines[at]);
      break;
    case 2:
      std::swap(lines[at], lines[other]);
      break;
    case 3:
      cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(cell));
      break;
    case 4:
      cells.insert(cells.begin() + static_cast<std::ptrdiff_t>(cell), odd_number(random));
      break;
    case 5: {
      const vector<string> others = parted(lines[other], separator);
      cells[cell] = others[below(random, others.size())];
      break;
    }
    default:
      cells[cell] = odd_number(random);
  }
  if (at < lines.size() && below(random, 8) > 2) lines[at] = joined(cells, separator);
  return joined(lines, '\n');
}

void change_bytes(string& text, Random& random) {
  for (size_t n = 1 + below(random, 5); n > 0 && !text.empty(); --n) {
    const size_t at = below(random, text.size());
    switch (below(random, 4)) {
      case 0:
        text.erase(at, 1);
        break;
      case 1:
        text.insert(at, 1, static_cast<char>(random()));
        break;
      case 2:
        text[at] = static_cast<char>(text[at] ^ 1 << below(random, 8));
        break;
      default:
        text[at] = static_cast<char>(random());
    }
  }
  if (below(random, 8) == 0) text.resize(below(random, text.size() + 1));
}

struct Pieces {
  string text, steps;
};

Pieces pieces_of(const string& file) {
  const size_t head = sizeof "ODTCERT1", line = file.find('\n', head);
  const size_t size = std::stoul(file.substr(head, line - head));
  return {file.substr(line + 1, size), file.substr(line + 1 + size)};
}

// A certificate and its rows, damaged.
void damage(string& file, string& rows, Random& random) {
  const size_t how = below(random, 10);
  if (how == 0) return change_bytes(file, random);
  if (how == 1) return change_bytes(rows, random);
  if (how == 2) {
    rows = changed_lines(rows, ',', random);
    return;
  }
  Pieces p = pieces_of(file);
  for (size_t n = 1 + below(random, 3); n > 0; --n) {
    if (how < 7)
      p.text = changed_lines(p.text, '\t', random);
    else
      change_bytes(p.steps, random);
  }
  file = "ODTCERT1\n" + std::to_string(p.text.size()) + "\n" + p.text + p.steps;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const string folder = argv[1], file = folder + "/damaged.cert", rows = file + ".csv";
  vector<std::pair<string, string>> whole;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const string path = entry.path().string();
    if (entry.path().extension() == ".cert" && path != file)
      whole.emplace_back(slurp(path), slurp(path + ".csv"));
  }
  if (whole.empty() || !std::freopen("/dev/null", "w", stdout)) return 2;
  const size_t count = std::stoul(argv[2]), first = std::stoul(argv[3]);
  size_t codes[3] = {0, 0, 0};
  for (size_t i = first; i < first + count; ++i) {
    Random random(i);
    auto [cert, csv] = whole[below(random, whole.size())];
    damage(cert, csv, random);
    write_file(file, cert);
    write_file(rows, csv);
    string name = "odtcheck", a = file, b = rows;
    char* words[] = {name.data(), a.data(), b.data(), nullptr};
    const itimerval limit{{0, 0}, {60, 0}};  // a crash where it hangs: of processor time
    setitimer(ITIMER_VIRTUAL, &limit, nullptr);
    const int code = odtcheck_main(3, words);
    if (code < 0 || code > 2) return 3;
    ++codes[code];
  }
  std::fprintf(stderr, "certified %zu, refused %zu, unreadable %zu\n", codes[0], codes[1],
               codes[2]);
  return 0;
}
