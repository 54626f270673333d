// The sorted search for ranks of 16 bits.
#include "odt/few_rows.hpp"
#include "odt/root_cuts_impl.hpp"
#include "odt/root_impl.hpp"
#include "odt/view_impl.hpp"

namespace odt {
template class View<std::uint16_t>;
template class DepthTwo<std::uint16_t>;
template class FewRows<std::uint16_t>;
template class Branch<std::uint16_t>;
template class Search<std::uint16_t>;
template RootAnswer solve_sorted<std::uint16_t>(const Dataset&, Control&, Result&,
                                                const RootAnswer&);
template std::unique_ptr<RootCuts> root_cuts<std::uint16_t>(const Dataset&, Control&, std::size_t);
}  // namespace odt
