package domain

// A ScheduleField is a field of the schedule.
type ScheduleField struct {
	Name   string
	Values []string // the default first; nil for a number
}

// ScheduleFields lists the fields of the schedule in the order in which they are told to people.
var ScheduleFields = []ScheduleField{
	{"pipeline", []string{"collective", "broadcast", "reduce", "p2p", "ring", "eager"}},
	{"transport", []string{"nccl", "ipc-get", "ipc-put", "auto"}},
	{"reshard", []string{"before", "after"}},
	{"streams", nil},
	{"sync", []string{"split", "fused"}},
	{"joins", []string{"body", "after"}},
	{"buffers", []string{"keep", "free"}},
	{"own", []string{"in-place", "copied"}},
	{"transfers", []string{"inline", "ahead"}},
	{"order", []string{"rotation", "reverse", "pairwise"}},
	{"own_step", []string{"first", "last"}},
	{"chunks", nil},
	{"sums", []string{"added", "folded", "direct"}},
	{"pieces", nil},
	{"copy", []string{"engine", "kernel", "fused"}},
	{"signals", []string{"single", "batched"}},
	{"hosts", []string{"none", "x", "y", "z"}},
	{"delay", nil},
	{"graph", []string{"false", "true"}},
	{"auto", []string{"false", "true"}},
}

// ScheduleValues lists what a field of the schedule can be, the default first; nil for a number.
func ScheduleValues(name string) []string {
	for _, f := range ScheduleFields {
		if f.Name == name {
			return f.Values
		}
	}
	return nil
}

// IsDefault reports whether a value is the one that the field has where a schedule leaves it out.
// It is never so for a number.
func (f ScheduleField) IsDefault(value string) bool {
	return len(f.Values) > 0 && value == f.Values[0]
}
