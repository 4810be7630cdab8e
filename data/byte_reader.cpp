#include "data/byte_reader.h"

#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "data/host.h"

namespace skyline {
namespace {

// One byte of deflate expands to at most this many (zlib's technical notes, "Maximum compression
// factor"). The slack covers the bytes that inflate holds back between calls.
constexpr std::uint64_t kMostExpansion = 1032;
constexpr std::uint64_t kInflateSlackBytes = 65536;
constexpr int kGzipOnly = 15 + 16;  // largest window, with gzip header and trailer (zlib.h)

// Texts shrink to a third or a tenth, logs of equal lines to a hundredth; bombs, to a thousandth.
constexpr std::uint64_t kMostRatio = 256;
constexpr std::uint64_t kFreeBytes = std::uint64_t{1} << 26;
constexpr std::size_t kInputBytes = std::size_t{1} << 16;

bool starts_member(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

uInt clamped(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
}

}  // namespace

// The bytes as they are stored, a piece of them at hand.
struct ByteReader::Input {
  std::string source;
  std::vector<std::uint8_t> piece;
  std::ifstream file = {};
  std::uint64_t unread = 0;  // bytes of the file behind the piece
  std::uint64_t taken = 0;   // bytes in total that were used
  std::size_t position = 0;  // of the next byte of the piece

  std::span<const std::uint8_t> rest() const { return std::span(piece).subspan(position); }
  std::uint64_t bytes_left() const { return rest().size() + unread; }

  void take(std::size_t bytes) {
    position += bytes;
    taken += bytes;
  }

  // Reads on if fewer than `least` bytes are at hand; the end of the file leaves fewer.
  void fill(std::size_t least) {
    if (rest().size() >= least || unread == 0) return;
    piece.erase(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(position));
    position = 0;
    const std::size_t had = piece.size();
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(unread, kInputBytes));
    piece.resize(had + count);
    file.read(reinterpret_cast<char*>(piece.data() + had), static_cast<std::streamsize>(count));
    if (!file) {
      throw DataError(
          source, "cannot be read",
          std::to_string(taken + had + static_cast<std::uint64_t>(file.gcount())) + " bytes",
          std::to_string(taken + had + unread));
    }
    unread -= count;
  }
};

// zlib's state points back to `stream`, so an Inflater must not move.
struct ByteReader::Inflater {
  z_stream stream{};
  std::uint64_t made = 0;  // bytes in total
  bool member_ended = false;

  Inflater() {
    if (inflateInit2(&stream, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Decompresses once and returns the number of bytes written.
  std::size_t step(Input& input, std::span<std::uint8_t> out) {
    input.fill(1);
    const std::span<const std::uint8_t> rest = input.rest();
    // zlib never writes to its input; the pointer is mutable only because ZLIB_CONST is not set.
    stream.next_in = const_cast<Bytef*>(rest.data());
    stream.avail_in = clamped(rest.size());
    stream.next_out = out.data();
    stream.avail_out = clamped(out.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    input.take(static_cast<std::size_t>(stream.next_in - rest.data()));
    check(input, result);
    const auto count = static_cast<std::size_t>(stream.next_out - out.data());
    made += count;
    if (made > kFreeBytes && made / kMostRatio > input.taken) {
      throw DataError(input.source,
                      std::to_string(input.taken) + " bytes of gzip hold more than " +
                          std::to_string(made) +
                          ", which no data do; gunzip the file to read it all the same");
    }
    return count;
  }

  void check(const Input& input, int result) {
    member_ended = result == Z_STREAM_END;
    if (result == Z_OK || result == Z_STREAM_END) return;
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result == Z_BUF_ERROR) {
      throw DataError(input.source, "gzip data end early, after " + std::to_string(input.taken) +
                                        " compressed bytes");
    }
    throw DataError(input.source, "corrupt gzip data before compressed byte " +
                                      std::to_string(input.taken) + ": " +
                                      (stream.msg != nullptr ? stream.msg : "not a gzip stream"));
  }

  void begin_member(const Input& input) {
    if (!starts_member(input.rest())) {
      throw DataError(input.source,
                      std::to_string(input.bytes_left()) + " bytes follow the gzip data");
    }
    inflateReset(&stream);
    member_ended = false;
  }
};

ByteReader::ByteReader(std::string source, std::vector<std::uint8_t> contents)
    : ByteReader(std::make_unique<Input>(
          Input{.source = std::move(source), .piece = std::move(contents)})) {}
ByteReader::ByteReader(std::unique_ptr<Input> input)
    : source_(input->source), input_(std::move(input)) {
  input_->fill(2);
  if (starts_member(input_->rest())) inflater_ = std::make_unique<Inflater>();
}
ByteReader::ByteReader(ByteReader&&) noexcept = default;
ByteReader& ByteReader::operator=(ByteReader&&) noexcept = default;
ByteReader::~ByteReader() = default;

ByteReader ByteReader::open(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw DataError(path.string(), "no such file");
  if (!std::filesystem::is_regular_file(status)) throw DataError(path.string(), "not a file");
  auto input = std::make_unique<Input>(Input{.source = path.string(), .piece = {}});
  input->unread = std::filesystem::file_size(path, error);
  if (error) throw DataError(path.string(), "cannot be read: " + error.message());
  input->file.open(path, std::ios::binary);
  return ByteReader(std::move(input));
}

std::size_t ByteReader::read(std::span<std::uint8_t> bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const std::span<std::uint8_t> out = bytes.subspan(written);
    if (inflater_ == nullptr) {
      input_->fill(1);
      const std::span<const std::uint8_t> rest = input_->rest();
      const std::size_t count = std::min(out.size(), rest.size());
      if (count == 0) break;
      std::copy_n(rest.begin(), count, out.begin());
      input_->take(count);
      written += count;
      continue;
    }
    if (inflater_->member_ended) {
      input_->fill(2);
      if (input_->rest().empty()) break;
      inflater_->begin_member(*input_);
    }
    written += inflater_->step(*input_, out);
  }
  return written;
}

std::uint64_t ByteReader::most_remaining_bytes() const noexcept {
  const std::uint64_t left = input_->bytes_left();
  return inflater_ == nullptr ? left : left * kMostExpansion + kInflateSlackBytes;
}

}  // namespace skyline
