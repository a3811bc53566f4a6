package model_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// limits lists the rows of the table in docs/spec.md, each with a bad spec that exceeds the limit.
var limits = []struct{ what, most, file string }{
	{"a parameter, and the result of an expression", "9223372036854775807", "param_of_64_bits"},
	{"the bytes of a tensor over all ranks", "281474976710656", "size_of_memory"},
	{"ranks", "1024", "mesh_world_too_large"},
	{"axes of a tensor", "8", "axes_too_many"},
	{"elements of an axis that `positions` counts", "16777216", "positions"},
	{"rows of a `dropout`", "16777216", "dropout_rows"},
	{"rows of the table of a `gather`", "16777216", "gather"},
	{"rows of the result of a `scatter_add`", "16777216", "routers"},
	{"elements that a `top_k` takes", "256", "routers"},
	{"slices of an axis `Stream(S)`", "16384", "extent_stream_slices"},
	{"rows of a GEMM on a rank", "2147483647", "lowering/long_gemm_rows"},
	{"columns of a GEMM on a rank", "2147483647", "lowering/long_gemm_columns"},
	{"terms of each sum of a GEMM on a rank", "2147483647", "lowering/long_gemm_sums"},
	{"GEMMs in one call", "2147483647", "lowering/long_gemm_batches"},
	{"calls in a loop, if the batches of a product have no common stride", "16384", "lowering/long_gemm_loop"},
	{"rows of a head of an attention on a rank", "2147483647", "lowering/long_attention_rows"},
	{"tiles of 64 rows of an attention on a rank, of all heads and batches", "1073741823", "lowering/long_attention_tiles"},
}

// TestLimits checks that docs/spec.md has each limit, and that the message for a larger number has the same limit.
func TestLimits(t *testing.T) {
	page, err := os.ReadFile("../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Limits\n")
	table, _, _ = strings.Cut(table, "\n## ")
	if rows := strings.Count(table, "\n| ") - 1; rows != len(limits) {
		t.Errorf("the page has %d limits, and %d are tested", rows, len(limits))
	}
	for _, l := range limits {
		if !strings.Contains(table, "\n| "+l.what+" | "+l.most+" | ") {
			t.Errorf("the page does not say: %s at most %s", l.what, l.most)
		}
		src, err := os.ReadFile("../testdata/errors/" + l.file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		// The second number is 2^63, which no int64 can hold: the message for it has no limit.
		if !regexp.MustCompile(`(?m)^#[ ^<]*HG.*\b(` + l.most + `|9223372036854775808)\b`).Match(src) {
			t.Errorf("%s: no message has the limit %s:\n%s", l.file, l.most, src)
		}
	}
}
