#include "cli/moving/session_file.h"

#include <algorithm>
#include <utility>

namespace banyan::cli {

using nlohmann::json;

namespace {

constexpr std::string_view kMagic = "BANYAN1\n";
constexpr std::uint64_t kManifestMax = 256 << 20;
constexpr std::uint64_t kTail = kSignatureBytes + kPublicKeyBytes;

std::string length_of(std::uint64_t value) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8)
    bytes += static_cast<char>(value >> static_cast<unsigned>(shift) & 0xffU);
  return bytes;
}

/// Reads a file from its beginning on, and hashes what it reads.
class Reader {
 public:
  Reader(std::ifstream& in, std::uint64_t left) : in_(in), left_(left) {}

  /// The next `size` bytes; empty when there are not so many left.
  std::string take(std::uint64_t size) {
    if (size > left_) {
      left_ = 0;
      return {};
    }
    std::string bytes(size, '\0');
    in_.read(bytes.data(), static_cast<std::streamsize>(size));
    if (in_.gcount() != static_cast<std::streamsize>(size)) {
      left_ = 0;
      return {};
    }
    left_ -= size;
    sha_.add(bytes);
    return bytes;
  }
  std::string take_sized() {
    const std::string length = take(8);
    std::uint64_t size = 0;
    for (auto it = length.rbegin(); it != length.rend(); ++it)
      size = size << 8U | static_cast<unsigned char>(*it);
    return size > kManifestMax ? std::string() : take(size);
  }
  [[nodiscard]] std::uint64_t left() const { return left_; }
  std::string digest() { return sha_.digest(); }

 private:
  std::ifstream& in_;
  std::uint64_t left_;
  Sha256 sha_;
};

std::optional<std::vector<FileChunk>> chunks_of(const json& manifest) {
  std::vector<FileChunk> chunks;
  const auto list = manifest.find("chunks");
  if (list == manifest.end() || !list->is_array()) return std::nullopt;
  for (const json& one : *list) {
    const bool fits = one.is_array() && one.size() == 2 && one[0].is_string() && one[1].is_number_unsigned();
    const auto digest = fits ? digest_from_hex(one[0].get<std::string>()) : std::nullopt;
    if (!digest) return std::nullopt;
    chunks.push_back({*digest, one[1].get<std::uint64_t>(), {}});
  }
  return chunks;
}

}  // namespace

std::uint64_t bytes_of(const std::vector<FileChunk>& chunks) {
  std::uint64_t sum = 0;
  for (const FileChunk& chunk : chunks) sum += chunk.size;
  return sum;
}

json listed(const std::vector<FileChunk>& chunks) {
  json list = json::array();
  for (const FileChunk& chunk : chunks) list.push_back({to_hex(chunk.digest), chunk.size});
  return list;
}

SessionFileWriter::SessionFileWriter(std::filesystem::path path)
    : path_(std::move(path)),
      out_(draft(), std::ios::binary | std::ios::trunc),
      sha_(std::make_unique<Sha256>()) {}

SessionFileWriter::~SessionFileWriter() {
  if (!sha_) return;  // it was moved from, or has finished
  out_.close();
  std::error_code error;
  std::filesystem::remove(draft(), error);
}

std::filesystem::path SessionFileWriter::draft() const { return path_.string() + ".part"; }

void SessionFileWriter::write(std::string_view bytes) {
  sha_->add(bytes);
  out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

Result<SessionFileWriter> SessionFileWriter::create(const std::filesystem::path& path, const json& manifest,
                                                    std::string_view state) {
  SessionFileWriter writer(path);
  const std::string text = manifest.dump(-1, ' ', false, json::error_handler_t::replace);
  writer.write(kMagic);
  writer.write(length_of(text.size()));
  writer.write(text);
  writer.write(length_of(state.size()));
  writer.write(state);
  if (!writer.out_)
    return fail(ErrorKind::kIo,
                "cannot write " + path.string() + "; is there such a folder, and room in it?");
  return writer;
}

Result<Done> SessionFileWriter::add(std::string_view chunk) {
  write(chunk);
  if (!out_) return fail(ErrorKind::kIo, "cannot write " + path_.string() + "; is the disk full?");
  return Done{};
}

Result<Done> SessionFileWriter::finish(const Keys& keys) {
  const auto signature = keys.sign(sha_->digest());
  if (!signature) return tl::unexpected(signature.error());
  out_ << signature->signature << signature->public_key;
  out_.close();
  std::error_code error;
  if (out_) std::filesystem::rename(draft(), path_, error);
  if (!out_ || error) return fail(ErrorKind::kIo, "cannot write " + path_.string() + "; is the disk full?");
  sha_.reset();
  return Done{};
}

Result<SessionFile> SessionFile::open(const std::filesystem::path& path) {
  const auto corrupt = [&](const char* what) {
    return fail(ErrorKind::kCorrupt, path.string() + " " + what);
  };
  SessionFile file;
  file.in_.open(path, std::ios::binary | std::ios::ate);
  if (!file.in_) return fail(ErrorKind::kNotFound, "cannot read " + path.string());
  const std::streamoff size = file.in_.tellg();
  file.in_.seekg(0);
  if (size < static_cast<std::streamoff>(kMagic.size() + kTail)) return corrupt("is no session file");
  Reader reader(file.in_, static_cast<std::uint64_t>(size) - kTail);
  if (reader.take(kMagic.size()) != kMagic) return corrupt("is no session file, or one of a later version");
  file.manifest_ = json::parse(reader.take_sized(), nullptr, false);
  file.state_ = reader.take_sized();
  file.chunks_at_ = file.in_.tellg();
  auto chunks = file.manifest_.is_object() ? chunks_of(file.manifest_) : std::nullopt;
  if (!chunks || file.state_.empty()) return corrupt("is cut short or was changed");
  file.chunks_ = std::move(*chunks);
  for (FileChunk& chunk : file.chunks_) {
    const std::string bytes = reader.take(chunk.size);
    if (bytes.size() != chunk.size) return corrupt("is cut short");
    chunk.sha256 = sha256_of(bytes);
  }
  if (reader.left() != 0) return corrupt("is longer than it says");
  std::string tail(kTail, '\0');
  file.in_.read(tail.data(), static_cast<std::streamsize>(kTail));
  if (tail == std::string(kTail, '\0')) return file;
  const Keys::Signature signature{tail.substr(0, kSignatureBytes), tail.substr(kSignatureBytes)};
  if (!verifies(signature, reader.digest()))
    return corrupt("was changed after it was signed; ask for it again");
  file.public_key_ = signature.public_key;
  return file;
}

Result<Done> SessionFile::each_chunk(const std::function<Result<Done>(const FileChunk&, std::string)>& take) {
  in_.clear();
  in_.seekg(chunks_at_);
  for (const FileChunk& chunk : chunks_) {
    std::string bytes(chunk.size, '\0');
    in_.read(bytes.data(), static_cast<std::streamsize>(chunk.size));
    if (!in_ || digest_of(bytes) != chunk.digest || sha256_of(bytes) != chunk.sha256)
      return fail(ErrorKind::kCorrupt, "the file changed while it was read");
    if (auto done = take(chunk, std::move(bytes)); !done) return done;
  }
  return Done{};
}

}  // namespace banyan::cli
