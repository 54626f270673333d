// Trees of depth two of one target without rules on outputs, by the scans of regression trees.
#pragma once

#include <memory>
#include <vector>

#include "odt/outputs_rows.hpp"
#include "odt/regression_search.hpp"

namespace odt {

class OutputDepthTwo {
 public:
  OutputDepthTwo(const OutputRows& data, Control& control);
  ~OutputDepthTwo();

  // Whether trees of this shape behind a path in a state are told on so many rows.
  bool tells(Shape shape, int state, std::size_t rows) const {
    return ready_ && shape.depth == 2 && shape.leaves > 2 && rows > kFew &&
           !data_.rules().strict(state);
  }
  // What the best tree loses, prices included, where the node is `single` as a leaf; and its plan,
  // with stumps.
  double best(const OutputNode& node, Shape shape, int state, double single, Plan& plan);

 private:
  struct Scans;
  static constexpr std::size_t kFew = 3;

  const OutputRows& data_;
  Control& control_;
  bool ready_ = false;
  std::unique_ptr<Scans> scans_;  // made when they are wanted
};

}  // namespace odt
