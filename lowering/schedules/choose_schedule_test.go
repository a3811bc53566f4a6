package schedules

import (
	"os"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/lowertest"
)

// TestChooseSchedule has its own table of measurements, so that new measurements do not change its cases.
func TestChooseSchedule(t *testing.T) {
	source, err := os.ReadFile("../../testdata/pass/choose-schedule/measurements.tsv")
	if err != nil {
		t.Fatal(err)
	}
	list, err := parseMeasurements(string(source))
	if err != nil {
		t.Fatal(err)
	}
	table := measured
	measured = list
	t.Cleanup(func() { measured = table })
	lowertest.PassCases(t, "choose-schedule", func(p *hostir.Program) error {
		return chooseSchedule(p, func(*hostir.Program) (string, error) { return "", nil })
	})
}
