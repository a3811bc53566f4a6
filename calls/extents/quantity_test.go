package extents

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/names"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

func testScope() *Scope {
	return &Scope{
		Values: map[string]int64{"M": 64, "S": 4, "D": 2, "int": 3},
		Names:  map[string]string{"M": "M", "S": "S", "D": "D", "int": "int2"},
	}
}

func TestExtentKeepsTheExpression(t *testing.T) {
	for _, c := range []struct {
		extent domain.Extent
		want   string
	}{
		{domain.Extent{Text: "M/(S*D)", Size: 8}, "M / (S * D)"},
		{domain.Extent{Text: "M/(S*D)", Size: 7}, "7"}, // a pass changed the size
		{domain.Extent{Text: "Q", Size: 5}, "5"},
		{domain.Extent{Text: "M +", Size: 5}, "5"},
		{domain.Extent{Size: 5}, "5"},
		{domain.Extent{Text: "2*8*S", Size: 64}, "16 * S"},
		{domain.Extent{Text: "int*2", Size: 6}, "int2 * 2"},
	} {
		if got := testScope().Extent(c.extent).String(); got != c.want {
			t.Errorf("extent %v prints %q, want %q", c.extent, got, c.want)
		}
	}
}

func TestTimesReadsWell(t *testing.T) {
	s := testScope()
	m := s.Extent(domain.Extent{Text: "M/(S*D)", Size: 8})
	d := s.Extent(domain.Extent{Text: "D", Size: 2})
	for _, c := range []struct {
		got  Quantity
		want string
		size int64
	}{
		{Times(), "1", 1},
		{Times(Number(1), d), "D", 2},
		{Times(d, m), "D * (M / (S * D))", 16},
		{Times(m, d), "M / (S * D) * D", 16},
		{Times(d, Times(m, d)), "D * (M / (S * D)) * D", 32},
		{Times(Number(3), d, Number(5)), "D * 15", 30},
		{Times(Number(65536), Number(65536)), "4294967296", 4294967296}, // folded, because 65536 * 65536 would overflow int in the emitted C++
	} {
		if c.got.String() != c.want || c.got.Size != c.size {
			t.Errorf("got %s = %d, want %s = %d", c.got, c.got.Size, c.want, c.size)
		}
	}
}

func TestPartsTogetherAreTheWhole(t *testing.T) {
	s := &Scope{Values: map[string]int64{"D": 4, "K": 32, "S": 2}}
	of := func(text string, size int64) Quantity { return s.Extent(domain.Extent{Text: text, Size: size}) }
	for _, c := range []struct {
		parts, count Quantity
		want         string
	}{
		{of("K/D", 8), of("D", 4), "K"},
		{of("K/D", 8), of("S", 2), "K / D * S"},
		{of("S*K/D", 16), of("D", 4), "S * K"},
		{Times(of("K/D", 8), of("S", 2)), of("D", 4), "K * S"},
		{of("K/(D*S)", 4), of("D*S", 8), "K"},
		{of("D", 4), of("K/D", 8), "D * (K / D)"},
		{Number(3), Number(4), "12"},
	} {
		got := Together(c.parts, c.count)
		if got.String() != c.want || got.Size != c.parts.Size*c.count.Size {
			t.Errorf("%s and %s are %s = %d, want %s", c.parts, c.count, got, got.Size, c.want)
		}
	}
}

func TestTimesPanicsOnOverflow(t *testing.T) {
	defer func() {
		if _, ok := recover().(ErrOverflow); !ok {
			t.Error("an overflow goes unnoticed")
		}
	}()
	Times(Number(1<<40), Number(1<<40))
}

// TestPartsHaveTellingNames checks that the name of a part contains the whole dividend, and that equal extents have the
// same spelling.
func TestPartsHaveTellingNames(t *testing.T) {
	mesh := &calls.Mesh{Extents: []expr.Expr{expr.Var("D"), expr.Var("R")}}
	s := &Scope{Values: map[string]int64{"D": 2, "R": 4, "S": 2, "H": 8, "G": 4, "C": 6, "M": 64},
		Parts: NewParts(names.NewTable(), []*calls.Mesh{mesh})}
	for _, c := range []struct {
		text string
		size int64
		want string
	}{
		{"(H+2*G)/D*C", 48, "kShardH2G * C"}, {"G/D", 2, "kShardG"}, {"H/D*C+G/D*C+G/D*C", 48, "kShardH2G * C"},
		{"M/(S*D)", 16, "kSliceShardM"}, {"M/(S*R)", 8, "kSliceShardMBySR"}, {"M/D/S", 16, "kSliceShardM"}, {"C*M/D", 192, "kShardCM"},
		{"3*M/3", 64, "M"}, {"C/2", 3, "kHalfC"}, {"C/3", 2, "kChunkC"}, {"M%3", 1, "M % 3"}, {"M%3", 1, "M % 3"},
	} {
		if got := s.Extent(domain.Extent{Text: c.text, Size: c.size}).String(); got != c.want {
			t.Errorf("extent %s is %s, want %s", c.text, got, c.want)
		}
	}
}

func TestWholesReplacePartsAndTheirNumber(t *testing.T) {
	s := testScope()
	s.Parts = NewParts(names.NewTable(), nil)
	s.Extent(domain.Extent{Text: "M/S", Size: 16})
	part := s.Extent(domain.Extent{Text: "M/(S*D)", Size: 8}).String()
	for text, want := range map[string]string{
		"S * D * PART * K": "M * K", "x + s * D * PART * K": "x + s * kSliceM * K", "x % D * PART": "x % D * " + part, "D * S": "D * S",
	} {
		e, _ := expr.ParseHost(strings.ReplaceAll(text, "PART", part))
		if got := s.Parts.Wholes()(e).String(); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
