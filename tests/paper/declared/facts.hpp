// Names of a header, and what each is: a value or a signature.
#pragma once

#include <map>
#include <string>

namespace lockstep::test {
using Facts = std::map<std::string, std::string>;
}

lockstep::test::Facts facts_of_nvidia();
lockstep::test::Facts facts_of_paper();
