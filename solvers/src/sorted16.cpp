// The sorted search for ranks of 16 bits.
#include "odt/root_impl.hpp"

namespace odt {
template RootAnswer solve_sorted<std::uint16_t>(const Dataset&, Control&, Result&,
                                                const RootAnswer&);
}
