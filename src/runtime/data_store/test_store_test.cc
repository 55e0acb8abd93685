#include "runtime/data_store/test_store.h"

#include "base/random.h"

namespace banyan::runtime {

Blob test_bytes(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::string bytes(count, '\0');
  std::size_t at = 0;
  for (; at + 8 <= count; at += 8) {
    const std::uint64_t word = rng.next();
    bytes.replace(at, 8, reinterpret_cast<const char*>(&word), 8);
  }
  for (; at < count; ++at) bytes[at] = static_cast<char>(rng.next());
  return Blob(std::move(bytes));
}

std::unique_ptr<BlockingStore> open_store(const std::string& url, StoreOptions options) {
  auto store = blocking_store_at(url, std::move(options));
  if (!store) throw std::runtime_error(store.error().message);
  return std::move(*store);
}

bool until(Loop& loop, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (!condition() && std::chrono::steady_clock::now() < end) {
    loop.io().restart();
    loop.io().run_one_for(10ms);
  }
  return condition();
}

namespace {

void expect_value(BlockingStore& store, const std::string& key, const Blob& expected) {
  const auto got = store.get(key);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE(*got == expected) << key << ": " << got->size() << " bytes";
  const auto head = store.head(key);
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(*head, (port::StoredValue{key, expected.size()}));
}

void expect_absent(BlockingStore& store, const std::string& key) {
  const auto got = store.get(key);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::kNotFound) << got.error().message;
  const auto head = store.head(key);
  ASSERT_FALSE(head);
  EXPECT_EQ(head.error().kind, ErrorKind::kNotFound) << head.error().message;
}

void put(BlockingStore& store, const std::string& key, const Blob& value) {
  const auto done = store.put(key, value);
  ASSERT_TRUE(done) << done.error().message;
}

std::vector<std::string> keys(BlockingStore& store, const std::string& prefix) {
  const auto found = store.list(prefix);
  if (!found) return {found.error().message};
  std::vector<std::string> keys;
  for (const port::StoredValue& value : *found) keys.push_back(value.key);
  return keys;
}

}  // namespace

void check_store(BlockingStore& store, const std::vector<std::size_t>& sizes) {
  using Keys = std::vector<std::string>;
  expect_absent(store, "exports/none");
  EXPECT_TRUE(store.remove("exports/none"));
  EXPECT_EQ(keys(store, ""), Keys{});

  for (const std::size_t size : sizes) {
    const std::string key = "sizes/" + std::to_string(size);
    put(store, key, test_bytes(size, size));
    expect_value(store, key, test_bytes(size, size));
    put(store, key, test_bytes(size + 1, size));  // over the one that is there
    expect_value(store, key, test_bytes(size + 1, size));
    EXPECT_TRUE(store.remove(key));
    expect_absent(store, key);
  }

  const Blob chunk = test_bytes(1000, 7);
  const std::string chunk_key = port::chunk_key(digest_of(chunk.view()));
  const Keys all = {chunk_key, "exports/A+b=c&d%41?e#f~g:h@i(1),[2];{3}|<4>^$!", "exports/one",
                    "exports/two/x", "exportsz"};
  for (const std::string& key : all) put(store, key, chunk);
  for (const std::string& key : all) expect_value(store, key, chunk);
  EXPECT_EQ(keys(store, ""), all);
  EXPECT_EQ(keys(store, "exports/"), Keys(all.begin() + 1, all.begin() + 4));
  EXPECT_EQ(keys(store, "exports/t"), Keys{"exports/two/x"});
  EXPECT_EQ(keys(store, "exports/two/"), Keys{"exports/two/x"});
  EXPECT_EQ(keys(store, "nothing/"), Keys{});
  for (const std::string& key : all) EXPECT_TRUE(store.remove(key));
  EXPECT_EQ(keys(store, ""), Keys{});

  const auto misnamed = store.put(chunk_key, test_bytes(1000, 8));
  ASSERT_FALSE(misnamed);
  EXPECT_EQ(misnamed.error().kind, ErrorKind::kInvalid);
  const auto bad = store.put("../outside", chunk);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind, ErrorKind::kInvalid);
}

}  // namespace banyan::runtime
