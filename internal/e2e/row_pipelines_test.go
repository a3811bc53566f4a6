package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// blockEnd is an fp32 spec whose rows are one axis, and which names no Stream axis.
const blockEnd = `hirgen: 1
name: layer
params: {D: 2, M: 24, K: 12, N: 24}
mesh: {x: D}
dtype: fp32
tensors:
  O:  [DIDx, M, K/D]
  X:  [M, K]
  Wo: [DIDx, K, K/D]
  W1: [DIDx, N/D, K]
  b1: [DIDx, N/D]
  W2: [DIDx, K, N/D]
  Y:  [M, K]
ops:
  - Wop = linear(O, Wo)
  - attention = sum(Wop, axis=0)
  - X1 = add(X, attention)
  - Z = linear(X1, W1, b1)
  - A = relu(Z)
  - W2p = linear(A, W2)
  - mlp = sum(W2p, axis=0)
  - Y = add(X1, mlp)
`

// TestRowPipelines runs specs that name no Stream axis as p2p pipelines along their axis of rows.
func TestRowPipelines(t *testing.T) {
	reshaped, err := os.ReadFile("../../testdata/specs/mlp_sp/spec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sp := strings.Replace(renamed.ReplaceAllString(string(reshaped), "name: layer"), "dtype: bf16", "dtype: fp32", 1)
	for i, c := range []struct {
		name, spec, schedule string
	}{
		{"exact", blockEnd, "{pipeline: p2p, streams: 2, all: {via: ipc-get}}"},
		{"exact", blockEnd, "{pipeline: p2p, streams: 0, all: {via: ipc-put, signals: batched, split: 2, steps: bracket}}"},
		{"exact", blockEnd, "{pipeline: p2p, streams: 3, graph: true}"},
		{"mlp_sp", sp, "{pipeline: p2p, streams: 2, all: {via: ipc-put}}"},
	} {
		ranks := int64(2 + i%3)
		t.Run(fmt.Sprintf("%s/x=%d/%s", c.name, ranks, c.schedule), func(t *testing.T) {
			layers := folder{"layers"}.beside(t)
			layers.runs(t, withSchedule(c.spec, c.schedule), params{"D": ranks, "M": 24, "K": 12, "N": 24}, seedsOf(4))
		})
	}
}
