package model

import (
	"testing"

	"github.com/hirgen/hirgen/model/schedule"
)

// TestSpecWithoutScheduleIsAuto checks that a spec without a schedule has preset auto, and that an empty schedule has the
// defaults of all fields.
func TestSpecWithoutScheduleIsAuto(t *testing.T) {
	const spec = "hirgen: 1\nname: p\nmesh: {x: 2}\ntensors: {A: [DIDx, 8], C: [2, 8]}\nops:\n  - C = set(A)\n"
	for text, want := range map[string]struct{ preset, transport string }{
		"":                 {schedule.Auto, schedule.Auto},
		"schedule: auto\n": {schedule.Auto, schedule.Auto},
		"schedule: {preset: auto, graph: true}\n":          {schedule.Auto, schedule.Auto},
		"schedule: {preset: auto, pipeline: collective}\n": {schedule.Auto, ""},
		"schedule: {}\n":           {},
		"schedule: {streams: 2}\n": {},
		"schedule: none\n":         {schedule.None, ""},
		"schedule: eager\n":        {schedule.Eager, ""},
	} {
		p, err := Load("spec.yaml", []byte(spec+text), nil)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if preset, transport := p.Schedule.Get(schedule.Preset), p.Schedule.Get(schedule.Transport); preset != want.preset ||
			transport != want.transport {
			t.Errorf("%q: preset %q, transport %q", text, preset, transport)
		}
		if stated := len(p.Schedule.Stated()); (stated == 0) != (text == "" || text == "schedule: {}\n") {
			t.Errorf("%q: %d stated choices", text, stated)
		}
	}
}

// TestDefaultsAndFieldsAreSettings checks that the setting {} and the setting of a field replace preset auto, as a schedule
// in a spec does.
func TestDefaultsAndFieldsAreSettings(t *testing.T) {
	const spec = "hirgen: 1\nname: p\nmesh: {x: 2}\ntensors: {A: [DIDx, 8], C: [2, 8]}\nops:\n  - C = set(A)\n"
	for _, setting := range []Setting{{Value: Defaults}, {Path: schedule.Streams, Value: "2"}} {
		p, err := Load("spec.yaml", []byte(spec), nil, setting)
		if err != nil || p.Schedule.Get(schedule.Preset) != "" {
			t.Errorf("%v: %v, %v", setting, p, err)
		}
	}
}
