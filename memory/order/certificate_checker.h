#pragma once

#include <string>

#include "memory/order/certificate.h"
#include "memory/order/checked_graph.h"

namespace skyline {

// Returns what is wrong with a certificate, naming the op or the arc; empty if it proves its bound.
std::string fault_of_certificate(const CheckedGraph& graph, const BoundCertificate& certificate);

}  // namespace skyline
