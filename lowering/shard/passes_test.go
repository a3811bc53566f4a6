package shard

import (
	"testing"

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

func TestWholeViews(t *testing.T) {
	lowertest.PassCases(t, "whole-views", WholeViews)
}

func TestWidenOperands(t *testing.T) {
	lowertest.PassCases(t, "widen-operands", WidenOperands)
}
