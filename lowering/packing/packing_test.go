package packing

import "testing"

// Times of docs/design/packed-gemms.md, as measured on an H100: what is chosen is faster than what is not.
func TestChoosesWhatWasFaster(t *testing.T) {
	for _, c := range []struct {
		name    string
		m, n, k int64
		linear  bool // B is stored [n, k]
		want    Packs
	}{
		{"343.0 us, 103.0 with A copied", 2000, 5120, 3500, false, Packs{A: true}},
		{"403.0 us, 128.4", 2000, 5120, 3500, true, Packs{A: true, B: true}},
		{"338.5 us, 128.8", 2000, 3500, 5120, false, Packs{B: true, C: true}},
		{"1011.5 us, 247.9", 4096, 4096, 4097, false, Packs{A: true}},
		{"3212.7 us, 1569.2", 4096, 50257, 1024, false, Packs{B: true, C: true}},
		{"36.6 us, 12.5", 16, 4096, 4097, false, Packs{A: true}},
		{"44.6 us, 23.6", 256, 4096, 4100, false, Packs{A: true}},
		{"45.3 us, 46.5: B is large for so few rows", 256, 4096, 4100, true, Packs{}},
		{"58.3 us, 63.6", 64, 4097, 4096, false, Packs{}},
		{"21.8 us, 20.7: bound by memory", 4096, 4096, 36, false, Packs{}},
		{"24.8 us: aligned", 4096, 1000, 2048, false, Packs{}},
	} {
		rows := c.n
		if c.linear {
			rows = c.k
		}
		g := GEMM{M: c.m, N: c.n, K: c.k, Batch: 1, Element: 2, Result: 2, AlignA: align(c.k), AlignB: align(rows), AlignC: align(c.n)}
		if got := g.Choose(); got != c.want {
			t.Errorf("%d x %d x %d, %s: %+v, want %+v", c.m, c.n, c.k, c.name, got, c.want)
		}
		if g.Element = 4; g.Choose().Any() {
			t.Errorf("%d x %d x %d in fp32 is packed", c.m, c.n, c.k)
		}
	}
}

func align(row int64) int64 { return min(16, 2*(row&-row)) }
