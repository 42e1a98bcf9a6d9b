// The sentences of a part's contract, read from its header: those of the comments on what a
// student's file defines, and on the interface that make_x returns.
#pragma once

#include <string>
#include <vector>

namespace lockstep::grader {

struct ContractSentence {
  std::string address;  // "end_join Ensures 1": its declaration, its key, its number there from 1
  std::string words;
  int line = 0;  // of the header, from 1, on which its paragraph begins
};

// Paragraphs with a key count, such as Ensures or Throws, but not Source, Note and those about an
// argument. So does prose, under the key Does, from its second sentence on: the first one says what
// the part is for, and no check passes without that. A semicolon ends a sentence, too.
//   symbols  as manifests have them
//   Returns  the sentences of the interface first
std::vector<ContractSentence> sentences_of_contract(const std::string& header,
                                                    const std::vector<std::string>& symbols);

}  // namespace lockstep::grader
