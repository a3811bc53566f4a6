package calls

import "slices"

// StreamCount is the name of the constant for the number of compute streams.
const StreamCount = "kComputeStreams"

// StreamVar is the name of the variable of loops over the compute streams.
const StreamVar = "i"

// String prints a pointer: "A + s * K", "P_shared[peer] + K".
func (p Pointer) String() string {
	text := p.Base
	if p.Peer != nil {
		text += "[" + p.Peer.String() + "]"
	}
	if p.Offset != nil {
		text += " + " + p.Offset.String()
	}
	return text
}

// String prints a stream: "caller", "compute[s % 4]", "x_.stream".
func (s Stream) String() string {
	switch {
	case s.Index != nil:
		return "compute[" + s.Index.String() + "]"
	case s.Team:
		return s.Name + ".stream"
	default:
		return s.Name
	}
}

// StreamsOf lists the streams in the fields of a statement, but not in nested statements.
func StreamsOf(s Stmt) []Stream {
	var list []Stream
	for _, f := range Fields(s) {
		if on, ok := f.Value.(*Stream); ok && *on != (Stream{}) {
			list = append(list, *on)
		}
	}
	return list
}

// UsesStream reports whether statements, or nested ones, use a stream. It does not compare the Index of compute
// streams.
func UsesStream(body []Stmt, on Stream) bool {
	return Any(body, func(s Stmt) bool {
		return slices.ContainsFunc(StreamsOf(s), func(u Stream) bool { return u.Name == on.Name && u.Team == on.Team })
	})
}

// Order returns the two statements that make the stream "to" wait for all work issued to the stream "from" so far: a
// record of the event e, and a wait for it.
func Order(info Info, e Event, from, to Stream) []Stmt {
	return []Stmt{&EventRecord{Info: info, Event: e, On: from}, &StreamWait{Info: info, Event: e, On: to}}
}
