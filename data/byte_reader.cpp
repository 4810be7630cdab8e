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

bool starts_member(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

uInt clamped(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
}

}  // namespace

// zlib's state points back to `stream`, so an Inflater must not move.
struct ByteReader::Inflater {
  z_stream stream{};
  std::span<const std::uint8_t> rest;  // not yet decompressed
  std::size_t compressed_bytes;        // in total
  bool member_ended = false;

  explicit Inflater(std::span<const std::uint8_t> contents)
      : rest(contents), compressed_bytes(contents.size()) {
    if (inflateInit2(&stream, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::size_t position() const { return compressed_bytes - rest.size(); }

  // Decompresses once and returns the number of bytes written.
  std::size_t step(const std::string& source, std::span<std::uint8_t> out) {
    // zlib never writes to its input; the pointer is mutable only because ZLIB_CONST is not set.
    stream.next_in = const_cast<Bytef*>(rest.data());
    stream.avail_in = clamped(rest.size());
    stream.next_out = out.data();
    stream.avail_out = clamped(out.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    rest = rest.subspan(static_cast<std::size_t>(stream.next_in - rest.data()));
    check(source, result);
    return static_cast<std::size_t>(stream.next_out - out.data());
  }

  void check(const std::string& source, int result) {
    member_ended = result == Z_STREAM_END;
    if (result == Z_OK || result == Z_STREAM_END) return;
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result == Z_BUF_ERROR) {
      throw DataError(source, "gzip data end early, after " + std::to_string(compressed_bytes) +
                                  " compressed bytes");
    }
    throw DataError(source, "corrupt gzip data before compressed byte " +
                                std::to_string(position()) + ": " +
                                (stream.msg != nullptr ? stream.msg : "not a gzip stream"));
  }

  void begin_member(const std::string& source) {
    if (!starts_member(rest)) {
      throw DataError(source, std::to_string(rest.size()) + " bytes follow the gzip data");
    }
    inflateReset(&stream);
    member_ended = false;
  }
};

ByteReader::ByteReader(std::string source, std::vector<std::uint8_t> contents)
    : source_(std::move(source)), contents_(std::move(contents)) {
  if (starts_member(contents_)) inflater_ = std::make_unique<Inflater>(contents_);
}
ByteReader::ByteReader(ByteReader&&) noexcept = default;
ByteReader& ByteReader::operator=(ByteReader&&) noexcept = default;
ByteReader::~ByteReader() = default;

ByteReader ByteReader::open(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw DataError(path.string(), "no such file");
  if (!std::filesystem::is_regular_file(status)) throw DataError(path.string(), "not a file");
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error) throw DataError(path.string(), "cannot be read: " + error.message());

  std::vector<std::uint8_t> contents(bytes);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(contents.data()), static_cast<std::streamsize>(bytes));
  if (!file) {
    throw DataError(path.string(), "cannot be read", std::to_string(file.gcount()) + " bytes",
                    std::to_string(bytes));
  }
  return ByteReader(path.string(), std::move(contents));
}

std::size_t ByteReader::read(std::span<std::uint8_t> bytes) {
  if (inflater_ == nullptr) {
    const std::size_t count = std::min(bytes.size(), contents_.size() - position_);
    std::copy_n(contents_.begin() + static_cast<std::ptrdiff_t>(position_), count, bytes.begin());
    position_ += count;
    return count;
  }
  std::size_t written = 0;
  while (written < bytes.size()) {
    if (inflater_->member_ended) {
      if (inflater_->rest.empty()) break;
      inflater_->begin_member(source_);
    }
    written += inflater_->step(source_, bytes.subspan(written));
  }
  return written;
}

std::uint64_t ByteReader::most_remaining_bytes() const noexcept {
  if (inflater_ == nullptr) return contents_.size() - position_;
  return inflater_->rest.size() * kMostExpansion + kInflateSlackBytes;
}

}  // namespace skyline
