// Any bytes, gzip'd or not, read as a stream of characters, as one with known characters, as a set
// of characters or as numbers of words, either end in a DataError or give what the headers promise:
// the numbers give the text back, and a set is equal after writing and reading it back.
#include <cstdlib>

#include "data/host.h"
#include "data/text/text_stream.h"

namespace {

using namespace skyline;

void check_stream(bool good) {
  if (!good) std::abort();
}

template <typename Read>
void unless_refused(const Read& read) {
  try {
    read();
  } catch (const DataError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto reader = [&] { return ByteReader("fuzz", {data, data + size}); };
  unless_refused([&] {
    const TextStream stream = read_characters(reader());
    check_stream(!stream.words.empty() && stream.vocabulary == stream.characters.size());
    check_stream(CharacterSet::parse("again", stream.characters.file_text()) == stream.characters);
    const std::string text = stream.characters.decode(stream.words);
    check_stream(stream.characters.encode("again", text) == stream.words);
    check_stream(read_characters(reader(), &stream.characters).words == stream.words);
  });
  unless_refused([&] {
    const CharacterSet known = CharacterSet::parse("known", " abcdé");
    for (const auto word : read_characters(reader(), &known).words) {
      check_stream(word < known.size());
    }
  });
  unless_refused([&] {
    const std::string text(data, data + size);
    check_stream(CharacterSet::parse("fuzz", text).file_text() == text);
  });
  unless_refused([&] {
    for (const auto word : read_tokens(reader(), 0x4000).words) check_stream(word < 0x4000);
  });
  return 0;
}
