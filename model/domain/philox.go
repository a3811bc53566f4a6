package domain

import "math/bits"

// philox is the generator Philox4x32 with 10 rounds. It computes four random words from a counter and a key, and
// keeps no state between calls. Source: Salmon, Moraes, Dror and Shaw: Parallel Random Numbers: As Easy as 1, 2, 3,
// SC 2011.
func philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	c := counter
	for range 10 {
		high0, low0 := bits.Mul32(0xD2511F53, c[0])
		high1, low1 := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{high1 ^ c[1] ^ key[0], low1, high0 ^ c[3] ^ key[1], low0}
		key[0], key[1] = key[0]+0x9E3779B9, key[1]+0xBB67AE85
	}
	return c
}
