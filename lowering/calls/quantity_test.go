package calls

import (
	"testing"

	"github.com/hirgen/hirgen/model/domain"
)

func testScope() *scope {
	return &scope{
		values: map[string]int64{"M": 64, "S": 4, "D": 2, "int": 3},
		names:  map[string]string{"M": "M", "S": "S", "D": "D", "int": "int2"},
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
		if got := testScope().extent(c.extent).String(); got != c.want {
			t.Errorf("extent %v prints %q, want %q", c.extent, got, c.want)
		}
	}
}

func TestTimesReadsWell(t *testing.T) {
	s := testScope()
	m := s.extent(domain.Extent{Text: "M/(S*D)", Size: 8})
	d := s.extent(domain.Extent{Text: "D", Size: 2})
	for _, c := range []struct {
		got  quantity
		want string
		size int64
	}{
		{times(), "1", 1},
		{times(number(1), d), "D", 2},
		{times(d, m), "D * (M / (S * D))", 16},
		{times(m, d), "M / (S * D) * D", 16},
		{times(d, times(m, d)), "D * (M / (S * D)) * D", 32},
		{times(number(3), d, number(5)), "D * 15", 30},
		{times(number(65536), number(65536)), "4294967296", 4294967296}, // int would overflow
	} {
		if c.got.String() != c.want || c.got.size != c.size {
			t.Errorf("got %s = %d, want %s = %d", c.got, c.got.size, c.want, c.size)
		}
	}
}

func TestPartsTogetherAreTheWhole(t *testing.T) {
	s := &scope{values: map[string]int64{"D": 4, "K": 32, "S": 2}}
	of := func(text string, size int64) quantity { return s.extent(domain.Extent{Text: text, Size: size}) }
	for _, c := range []struct {
		parts, count quantity
		want         string
	}{
		{of("K/D", 8), of("D", 4), "K"},
		{of("K/D", 8), of("S", 2), "K / D * S"},
		{of("S*K/D", 16), of("D", 4), "S * K"},
		{times(of("K/D", 8), of("S", 2)), of("D", 4), "K * S"},
		{of("K/(D*S)", 4), of("D*S", 8), "K"},
		{of("D", 4), of("K/D", 8), "D * (K / D)"},
		{number(3), number(4), "12"},
	} {
		got := together(c.parts, c.count)
		if got.String() != c.want || got.size != c.parts.size*c.count.size {
			t.Errorf("%s and %s are %s = %d, want %s", c.parts, c.count, got, got.size, c.want)
		}
	}
}

func TestTimesPanicsOnOverflow(t *testing.T) {
	defer func() {
		if _, ok := recover().(errOverflow); !ok {
			t.Error("an overflow goes unnoticed")
		}
	}()
	times(number(1<<40), number(1<<40))
}
