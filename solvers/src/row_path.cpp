#include "odt/row_path.hpp"

#include <random>

namespace odt {

std::vector<std::uint64_t> row_hashes(std::size_t rows) {
  std::vector<std::uint64_t> hashes(rows, 0);
  std::mt19937_64 random(20240229);
  for (std::uint64_t& h : hashes) h = blind_hashes ? 0 : random();
  return hashes;
}

}  // namespace odt
