package lowering

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model/schedule"
)

// TestBlocksThatCannotBe checks the error for a block that is no divisor of the number of shards. The gathered shards
// are those of a bias.
func TestBlocksThatCannotBe(t *testing.T) {
	p := lowertest.Pipeline(t, 2, "A: [1, 2, 2], W: [1, 2, 2], B: [1, DIDx(2)], T: [1, 2, Stream(2)]", "T = linear(A, W, B)")
	p.Schedule.Put(schedule.Choice{Field: schedule.Pipeline, Value: schedule.P2P})
	p.Schedule.Put(schedule.Choice{Of: schedule.All, Field: schedule.Block, Value: "8"})
	_, err := Host(p, Options{})
	if err == nil || !strings.Contains(err.Error(), "schedule.all.block: 2 shards cannot be computed on 8 at a time") {
		t.Errorf("%v", err)
	}
}
