// The sorted search for ranks of 32 bits.
#include "odt/root_impl.hpp"

namespace odt {
template RootAnswer solve_sorted<std::uint32_t>(const Dataset&, Control&, Result&,
                                                const RootAnswer&);
}
