package packing

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// forms lists the copied matrices for each column of times in the table of docs/design/packed-gemms.md. The first two
// columns have no copies: the GEMM as it is, and a GEMM of padded sizes.
var forms = []Packs{{}, {}, {A: true}, {A: true, B: true}, {B: true, C: true}, {A: true, B: true, C: true}}

var row = regexp.MustCompile("(?m)^\\| (\\d+), (\\d+), (\\d+), `(\\[[nk], [nk]\\])` \\|(.*)\\|$")

// TestChoosesWhatThePageSays checks that Choose returns the bold form of each measured GEMM, that this form is not
// slower than the GEMM without copies, and that Choose copies nothing in fp32 or for aligned rows.
func TestChoosesWhatThePageSays(t *testing.T) {
	page, err := os.ReadFile("../../../docs/design/packed-gemms.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := row.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 15 {
		t.Fatalf("the page has %d rows", len(rows))
	}
	for _, r := range rows {
		times, bold := make([]float64, len(forms)), -1
		for i, cell := range strings.Split(r[5], "|") {
			text := strings.Trim(cell, " *")
			if times[i], err = strconv.ParseFloat(text, 64); err != nil {
				t.Fatalf("%s: %v", r[0], err)
			}
			if strings.Contains(cell, "**") {
				bold = i
			}
		}
		g := gemmOf(t, r)
		if want := forms[max(bold, 0)]; bold < 0 || g.Choose() != want {
			t.Errorf("%s: chosen %+v, want %+v", r[0], g.Choose(), want)
		}
		if bold > 0 && times[bold] > times[0] {
			t.Errorf("%s: copies are chosen, and slower", r[0])
		}
		if g.Element = 4; g.Choose().Any() {
			t.Errorf("%s is packed in fp32", r[0])
		}
	}
	if aligned := (GEMM{M: 4096, N: 1000, K: 2048, Batch: 1, Element: 2, Result: 2, AlignA: 16, AlignB: 16,
		AlignC: 16}); aligned.Choose().Any() {
		t.Error("a GEMM of aligned rows is packed")
	}
}

// gemmOf returns the GEMM of a row of the table.
func gemmOf(t *testing.T, r []string) GEMM {
	t.Helper()
	var size [3]int64
	for i := range size {
		n, err := strconv.ParseInt(r[1+i], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		size[i] = n
	}
	columns := size[1] // of B in memory
	if r[4] == "[n, k]" {
		columns = size[2]
	}
	align := func(row int64) int64 { return min(16, 2*(row&-row)) }
	return GEMM{
		M: size[0], N: size[1], K: size[2], Batch: 1, Element: 2, Result: 2,
		AlignA: align(size[2]), AlignB: align(columns), AlignC: align(size[1]),
	}
}
