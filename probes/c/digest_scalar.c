/* The digest's keys, and its kernel in portable C: the definition that the others must equal. */

#include "probes/c/digest_kernels.h"

const uint32_t reprise_digest_keys_a[REPRISE_DIGEST_BLOCK_WORDS] = {
    0x89025CC1u, 0x658EEC67u, 0xFB32555Fu, 0xEE42C90Bu, 0xD101B5B9u, 0x90150281u, 0xD7363CA5u,
    0x12278575u, 0x357E3DA9u, 0x74616797u, 0x01564F61u, 0x14CF8BFFu, 0x4BAA5DC1u, 0x90D7A28Bu,
    0x6F4C57A9u, 0xA5794A3Bu, 0xB7FD0B63u, 0x572BAAF1u, 0x30AF89EFu, 0x73EF6509u, 0x65E98747u,
    0x5C2A449Du, 0xD1548FCDu, 0x3EF306ADu, 0xD1AAB99Fu, 0xC177B6F7u, 0x864A7135u, 0x0D2DF7ABu,
    0x445BCD27u, 0x1909778Bu, 0x12C5D085u, 0xC90789BBu, 0x5A072C6Du, 0x48DCE01Du, 0x2EF3FC17u,
    0x56FEFF0Du, 0x5E4BE0F5u, 0x003553C1u, 0x96EB9D19u, 0xBE5B133Du, 0x607E2C87u, 0x881E2907u,
    0x59108163u, 0x8687FFB3u, 0x9FC66081u, 0x12C87E39u, 0x18E9685Fu, 0x304D9F97u, 0x21373073u,
    0x61EDD57Bu, 0x77BA0575u, 0x4C4CBEE5u, 0xBD6AE8F9u, 0x29CA1791u, 0x0C5B4A8Fu, 0x2751ECAFu,
    0x9ACD7AAFu, 0xC8C694CDu, 0xBFF06253u, 0x5A4DC853u, 0x5CE2CE15u, 0x1075B77Fu, 0x7914FFBDu,
    0x401ED25Bu,
};

const uint32_t reprise_digest_keys_b[REPRISE_DIGEST_BLOCK_WORDS] = {
    0x910A2DEDu, 0xBEEB8DA1u, 0xF893A2EFu, 0x71C18691u, 0x71BB54D9u, 0xC34D0BFFu, 0xE099EC6Du,
    0x85E7BB0Fu, 0x491718DFu, 0xCB435C8Fu, 0x6775DC77u, 0x9AFCD44Du, 0x7476CF8Bu, 0x87B341D7u,
    0x6F9B6DAFu, 0x2AC2CE17u, 0xA534A6A7u, 0xD0BAD0DBu, 0xAE843797u, 0xE2631837u, 0x10E2C469u,
    0x14D7973Du, 0x7EF1FD0Fu, 0x1F841063u, 0x497305C5u, 0x0C43407Du, 0x83F91CA7u, 0xB6B9AEEFu,
    0x0B331645u, 0xFF6C67E9u, 0x990CD70Bu, 0x962B1967u, 0x65ACE269u, 0x70616F2Fu, 0x40D6824Fu,
    0x879E2E23u, 0x8B2E0245u, 0xBF8C59BBu, 0xD16AA4B3u, 0xAB27A171u, 0xDCA0C749u, 0xB54B3C41u,
    0x3C821FBFu, 0xA7FF0D39u, 0xDE70D101u, 0xD6DE6ACDu, 0x530E0E61u, 0x28BFF9EBu, 0xE4D93033u,
    0xE9A61005u, 0x4D4673EFu, 0x21AF8CFDu, 0x536000F5u, 0xF0AF3CE5u, 0x64C70B0Bu, 0x16758727u,
    0x9B679C85u, 0x27CD5F9Fu, 0xF55540B3u, 0xE0285293u, 0x86C5D1B1u, 0x1180B23Bu, 0xC09A1A81u,
    0x88B894E1u,
};

static uint32_t LoadLittleEndian(const uint8_t* bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
         (uint32_t)bytes[3] << 24;
}

void reprise_digest_blocks_scalar(reprise_digest_sum* sum, const uint8_t* data,
                                  uint64_t first_block, size_t block_count) {
  for (size_t n = 0; n < block_count; ++n) {
    uint64_t block_a = 0;
    uint64_t block_b = 0;
    for (size_t l = 0; l < REPRISE_DIGEST_BLOCK_WORDS; ++l) {
      const uint64_t word = LoadLittleEndian(data + 4 * l);
      block_a += word * reprise_digest_keys_a[l];
      block_b += word * reprise_digest_keys_b[l];
    }
    sum->a += block_a * reprise_digest_multiplier_a(first_block + n);
    sum->b += block_b * reprise_digest_multiplier_b(first_block + n);
    data += REPRISE_DIGEST_BLOCK_BYTES;
  }
}
