// Tests of the hash functions of the bootstrap's proofs, with published vectors.
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "test.hpp"

namespace hirgen {
namespace {

std::string hex(const Digest& digest) {
  std::string text;
  for (const uint8_t byte : digest) text += format("%02x", static_cast<unsigned>(byte));
  return text;
}

// NIST's examples for FIPS 180-4, and the digest of the empty text.
HG_TEST(sha256_gives_the_published_digests) {
  HG_EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  HG_EXPECT_EQ(hex(sha256("abc")),
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  HG_EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  HG_EXPECT_EQ(hex(sha256(std::string(1'000'000, 'a'))),
               "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Lengths around the end of a block of 64 bytes: the padding fits after 55 bytes, but not after 56
// or 64.
HG_TEST(sha256_pads_every_length) {
  HG_EXPECT_EQ(hex(sha256(std::string(55, 'a'))),
               "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  HG_EXPECT_EQ(hex(sha256(std::string(56, 'a'))),
               "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  HG_EXPECT_EQ(hex(sha256(std::string(64, 'a'))),
               "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

// RFC 4231's cases 1, 2, 6 and 7.
HG_TEST(hmac_gives_the_published_digests) {
  HG_EXPECT_EQ(hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  HG_EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  const std::string long_key(131, '\xaa');
  HG_EXPECT_EQ(hex(hmac_sha256(long_key, "Test Using Larger Than Block-Size Key - Hash Key First")),
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  HG_EXPECT_EQ(hex(hmac_sha256(long_key,
                               "This is a test using a larger than block-size key and a larger "
                               "than block-size data. The key needs to be hashed before being "
                               "used by the HMAC algorithm.")),
               "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

HG_TEST(digests_differ_in_any_byte) {
  const Digest digest = sha256("x");
  HG_EXPECT(equal_in_constant_time(digest, digest));
  for (size_t i = 0; i < digest.size(); ++i) {
    Digest other = digest;
    other[i] ^= 1;
    HG_EXPECT(!equal_in_constant_time(digest, other));
  }
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) { return hirgen::test::run_all(argc, argv); }
