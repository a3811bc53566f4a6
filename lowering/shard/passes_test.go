package shard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestDecomposeContractions(t *testing.T) {
	lowertest.PassCases(t, "decompose-contractions", DecomposeContractions)
}

func TestDecomposeReshardings(t *testing.T) {
	lowertest.PassCases(t, "decompose-reshardings", DecomposeReshardings)
}

func TestInsertReshardings(t *testing.T) {
	lowertest.PassCases(t, "insert-reshardings", InsertReshardings)
}

func TestMakeReshardingsContiguous(t *testing.T) {
	lowertest.PassCases(t, "make-reshardings-contiguous", MakeReshardingsContiguous)
}

func TestMarkAliases(t *testing.T) {
	lowertest.PassCases(t, "mark-aliases", MarkAliases)
}

func TestPropagateShardings(t *testing.T) {
	lowertest.PassCases(t, "propagate-shardings", PropagateShardings)
}

func TestMergeRows(t *testing.T) {
	lowertest.PassCases(t, "merge-rows", MergeRows)
}

func TestReorderShardedAxis(t *testing.T) {
	lowertest.PassCases(t, "reorder-sharded-axis", ReorderShardedAxis)
}

func TestSerializeStreams(t *testing.T) {
	lowertest.PassCases(t, "serialize-streams", SerializeStreams)
}

func TestSetAllocationDomains(t *testing.T) {
	lowertest.PassCases(t, "set-allocation-domains", SetAllocationDomains)
}

func TestSplitRows(t *testing.T) {
	lowertest.PassCases(t, "split-rows", SplitRows)
}

func TestStreamReshardings(t *testing.T) {
	lowertest.PassCases(t, "stream-reshardings", StreamReshardings)
}

func TestMergeAllreduces(t *testing.T) {
	lowertest.PassCases(t, "merge-allreduces", MergeAllreduces)
}

func TestSerializeSingleRanks(t *testing.T) {
	lowertest.PassCases(t, "serialize-single-ranks", SerializeSingleRanks)
}

func TestExchangeSums(t *testing.T) {
	lowertest.PassCases(t, "exchange-sums", ExchangeSums)
}

func TestSendParts(t *testing.T) {
	lowertest.PassCases(t, "send-parts", SendParts)
}

// TestSendPartsOfLimitedSize checks that parts of 2 MB are sent, and a larger part stays in its collective.
func TestSendPartsOfLimitedSize(t *testing.T) {
	file := filepath.Join("..", "..", "testdata", "pass", "send-parts", "output.in.hir")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for rows, sent := range map[string]bool{"65536": true, "65537": false} {
		p, err := text.Parse(file, strings.NewReplacer("param M = 8", "param M = "+rows, "param N = 6", "param N = 8").Replace(string(source)))
		if err != nil {
			t.Fatal(err)
		}
		if err := SendParts(p); err != nil || (len(p.Body) == 2) != sent {
			t.Errorf("%s rows of 32 bytes: error %v, sent must be %v:\n%s", rows, err, sent, text.Print(p))
		}
	}
}

func TestWholeViews(t *testing.T) {
	lowertest.PassCases(t, "whole-views", WholeViews)
}

func TestWidenOperands(t *testing.T) {
	lowertest.PassCases(t, "widen-operands", WidenOperands)
}
