package model_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model"
)

// onOneLine has, by the kind of element, specs with n elements on one line. Some of the specs have an error in every
// element.
var onOneLine = map[string]func(n int) string{
	"parameters":       func(n int) string { return "params: {" + repeated(n, "p%d: 1") + "}\n" },
	"wrong parameters": func(n int) string { return "params: {" + repeated(n, "p%d: q%[1]d") + "}\n" },
	"unknown fields":   func(n int) string { return "schedule: {" + repeated(n, "f%d: 1") + "}\n" },
	"one key":          func(n int) string { return "params: {" + repeated(n, "p%.0d: 1") + "}\n" },
	"mesh axes":        func(n int) string { return "mesh: {" + repeated(n, "x%d: 1") + "}\n" },
	"wide characters":  func(n int) string { return "outputs: [" + repeated(n, "\"é%d\"") + "]\n" },
}

func repeated(n int, format string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(items, ", ")
}

// TestTimeIsLinearInTheKeysOfALine checks that eight times the keys take up to three times as long per key, or up to a
// second in total, because times on a busy machine vary. With quadratic time, they would take eight times as long per key,
// about five seconds.
func TestTimeIsLinearInTheKeysOfALine(t *testing.T) {
	load := func(section string) time.Duration {
		spec := "hirgen: 1\nname: p\n" + section + "tensors: {A: [8]}\nops: [B = relu(A)]\n"
		best := time.Duration(1 << 62)
		for range 2 {
			start := time.Now()
			_, _ = model.Load("spec.yaml", []byte(spec), nil)
			best = min(best, time.Since(start))
		}
		return best
	}
	const few, many = 2_000, 16_000
	for what, section := range onOneLine {
		if short, long := load(section(few)), load(section(many)); long > 3*many/few*short && long > time.Second {
			t.Errorf("%s: %d take %v, and %d take %v", what, few, short, many, long)
		}
	}
}

// TestColumnsOfALongLine checks the column of an error far along a line. The YAML library counts columns in characters, and
// diagnostics have columns in bytes.
func TestColumnsOfALongLine(t *testing.T) {
	head := "hirgen: 1\nname: p\nparams: {"
	for _, before := range []int{0, 1, 62, 63, 64, 65, 127, 128, 129, 1000} {
		line := strings.Repeat("é", before)
		spec := head + "\"" + line + "\": 1, Q: R}\ntensors: {A: [8]}\nops: [B = relu(A)]\n"
		_, err := model.Load("spec.yaml", []byte(spec), nil)
		errs, ok := diag.Diagnostics(err)
		if !ok || len(errs.Items) != 2 {
			t.Fatalf("%d characters: %v", before, err)
		}
		want := len("params: {\"\": 1, Q: R") + len(line)
		if got := errs.Items[1].Pos; got.Line != 3 || got.Col != want {
			t.Errorf("%d characters before: the unknown parameter is at %v, want column %d", before, got, want)
		}
	}
}
