package domain

import (
	"math"
	"testing"
)

// TestPhilox compares philox with the known answers of its authors (Random123, kat_vectors).
func TestPhilox(t *testing.T) {
	const most = math.MaxUint32
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{most, most, most, most}, [2]uint32{most, most}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := philox(c.counter, c.key); got != c.want {
			t.Errorf("philox(%x, %x) = %x, want %x", c.counter, c.key, got, c.want)
		}
	}
}

func TestDropoutKeepsItsShare(t *testing.T) {
	const n = 1 << 16
	for _, p := range []float64{0, 0.1, 0.5, 0.9} {
		for seed := range int64(3) {
			d, kept := Dropout{P: p, Width: 256}, 0
			for i := range int64(n) {
				switch x := d.Apply(3, seed, i/256, i%256); x {
				case 0:
				case 3 * d.Scale():
					kept++
				default:
					t.Fatalf("p=%g: 3 became %g", p, x)
				}
			}
			want, sigma := n*(1-p), math.Sqrt(n*p*(1-p))
			if math.Abs(float64(kept)-want) > 5*sigma {
				t.Errorf("p=%g, seed %d: %d of %d elements are kept, expected %.0f with deviation %.0f", p, seed, kept, n, want, sigma)
			}
		}
	}
}

// TestDropoutMasksDiffer checks that different seeds or salts give different masks.
func TestDropoutMasksDiffer(t *testing.T) {
	masks := map[string]bool{}
	for _, seed := range []int64{0, 1, 1 << 40, -1} {
		for salt := range int64(3) {
			mask := ""
			for i := range int64(64) {
				mask += string('0' + byte(Dropout{P: 0.5, Salt: salt, Width: 64}.Apply(0.5, seed, 0, i)))
			}
			masks[mask] = true
		}
	}
	if len(masks) != 12 {
		t.Errorf("12 seeds and salts give %d masks", len(masks))
	}
}

func TestDropoutFn(t *testing.T) {
	d := Dropout{P: float64(float32(0.1)), Salt: 3, Width: 4096}
	if got, ok := DropoutOf(d.Fn()); d.Fn() != "dropout(p=0.1 salt=3 width=4096)" || !ok || got != d {
		t.Errorf("%q reads as %v, %t", d.Fn(), got, ok)
	}
	for _, fn := range []string{"dropout", "dropout(0.1)",
		"dropout(p=1 salt=0 width=4)", "dropout(p=0.999999 salt=0 width=4)", "dropout(p=0.1 salt=0 width=0)", "dropout(p=0.1 salt=0 width=4) "} {
		if _, ok := DropoutOf(fn); ok {
			t.Errorf("%q is no dropout", fn)
		}
	}
}
