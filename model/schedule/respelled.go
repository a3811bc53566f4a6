package schedule

import "fmt"

// Respelled returns a hint for a field and value at the top of the schedule that an earlier version of the format had. It
// is empty for other fields. hirgen does not accept the old spellings.
func Respelled(field, value string) string {
	switch field {
	case "sync":
		return fmt.Sprintf("say preset: reference and initial_waits: %s", value)
	case "own":
		return fmt.Sprintf("say preset: reference and local_shard: %s", value)
	case "hosts":
		if value == None {
			return "leave it out: without nodes there is no such axis"
		}
		return "say nodes: " + value
	case "auto":
		return "say preset: auto"
	case "chunks":
		return fmt.Sprintf("on D ranks say all: {split: %s/D} for sub-chunks of each shard, or all: {block: D/(%s)} for several shards in "+
			"one GEMM", value, value)
	case "pieces":
		return fmt.Sprintf("say all: {split: %s, interchange: true}", value)
	}
	now, ok := respelled[field]
	switch v, renamed := now.values[value]; {
	case !ok:
		return ""
	case renamed:
		value = v
	case value == Reverse:
		return "say preset: reference and all: {steps: reverse}"
	}
	return fmt.Sprintf("say all: {%s: %s}", now.field, value)
}

// RespelledValue returns a hint for a value of an existing field that an earlier version of the format had. It is empty
// for other values.
func RespelledValue(field, value string) string {
	switch via, _ := Named(Via); {
	case field == Pipeline && value == Ring:
		return "say pipeline: p2p and all: {steps: ring}"
	case field == Pipeline && value == Eager:
		return "say preset: eager"
	case field == Transport && via.Can(value):
		return fmt.Sprintf("say all: {via: %s}", value)
	case field == Via && value == Auto:
		return "say transport: auto"
	case field == Copy && value == "kernel":
		return "say copy: sm"
	}
	return ""
}

// respelled maps fields of an earlier version of the format to the fields of communications that replaced them, with the
// new names of values.
var respelled = map[string]struct {
	field  string
	values map[string]string
}{
	"transfers": {Lead, map[string]string{"inline": None, "ahead": All}},
	"order":     {Steps, nil},
	"own_step":  {Local, nil},
	"sums":      {Fuse, map[string]string{"added": None, "folded": GEMM, "direct": PeerRead}},
	Copy:        {Copy, map[string]string{"kernel": SM}},
	Signals:     {Signals, nil},
}
