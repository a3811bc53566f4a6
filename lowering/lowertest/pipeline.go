package lowertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model"
)

// Pipeline loads an fp32 pipeline on d ranks with the default schedule. tensors and ops are comma-separated entries of
// these sections of a spec, such as "A: [D, 2], B: [D, 2]" and "B = neg(A)".
func Pipeline(t *testing.T, d int64, tensors, ops string) *model.Pipeline {
	t.Helper()
	text := fmt.Sprintf("hirgen: 1\nname: cut\nparams: {D: %d}\nmesh: {x: D}\ndtype: fp32\ntensors: {%s}\nops: [%s]\nschedule: {}\n", d,
		tensors, quoteCalls(ops))
	p, err := model.Load("spec.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// quoteCalls puts operations in quotes, because their operands contain commas.
func quoteCalls(ops string) string {
	calls := strings.SplitAfter(strings.ReplaceAll(ops, "'", ""), ")")
	for i, call := range calls {
		if call = strings.TrimPrefix(call, ", "); call != "" {
			calls[i] = "'" + call + "'"
		}
	}
	return strings.TrimSuffix(strings.Join(calls, ", "), ", ")
}
