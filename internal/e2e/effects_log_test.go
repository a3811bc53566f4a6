package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"slices"
)

// byteRun is the range of bytes from begin up to end, which is not included.
type byteRun struct{ begin, end int64 }

// logged is a line of the CPU device's log (runtime_cpp/cpu/README.md): an allocation, or a call.
type logged struct {
	Device   int32
	Label    string
	Memory   uint64 // number of the allocation, for an entry of an allocation
	Call     int64
	Kind     string // kind of the call; empty for an allocation
	Operands []loggedOperand
}

type loggedOperand struct {
	Memory           uint64
	Write            bool
	At, Size         int64 // byte offset of the first element, and bytes of an element
	Extents, Strides []int64
}

// accessLog is the log of all ranks. Rank and device are the same number.
type accessLog struct {
	allocations []logged
	calls       map[int32]map[string][]logged // by rank and label, in the order of calls
}

func readLog(files []string) (*accessLog, error) {
	log := &accessLog{calls: map[int32]map[string][]logged{}}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for entry := range bytes.Lines(text) {
			var line logged
			if err := json.Unmarshal(entry, &line); err != nil {
				return nil, err
			}
			switch {
			case line.Kind == "":
				log.allocations = append(log.allocations, line)
			case len(line.Operands) > 0:
				if log.calls[line.Device] == nil {
					log.calls[line.Device] = map[string][]logged{}
				}
				log.calls[line.Device][line.Label] = append(log.calls[line.Device][line.Label], line)
			}
		}
	}
	for _, labels := range log.calls {
		for label, list := range labels {
			slices.SortStableFunc(list, func(a, b logged) int { return cmp.Compare(a.Call, b.Call) })
			// A graph repeats its kernels.
			labels[label] = slices.CompactFunc(list, func(a, b logged) bool { return a.Call == b.Call })
		}
	}
	return log, nil
}

// strided returns the byte ranges of elements of size bytes in a strided layout, merged. Strides are in elements.
func strided(at, size int64, extents, strides []int64) []byteRun {
	runs := []byteRun{{at, at + size}}
	for axis := len(extents) - 1; axis >= 0; axis-- {
		var all []byteRun
		for i := range extents[axis] {
			for _, r := range runs {
				all = append(all, byteRun{r.begin + i*strides[axis]*size, r.end + i*strides[axis]*size})
			}
		}
		runs = merged(all)
	}
	return runs
}

// merged sorts runs and joins those that overlap or touch.
func merged(runs []byteRun) []byteRun {
	slices.SortFunc(runs, func(a, b byteRun) int { return cmp.Compare(a.begin, b.begin) })
	var out []byteRun
	for _, r := range runs {
		if last := len(out) - 1; last >= 0 && r.begin <= out[last].end {
			out[last].end = max(out[last].end, r.end)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// without returns the bytes of runs that others do not contain. Both are merged.
func without(runs, others []byteRun) []byteRun {
	var out []byteRun
	for _, r := range runs {
		for _, o := range others {
			if o.end <= r.begin || o.begin >= r.end {
				continue
			}
			if o.begin > r.begin {
				out = append(out, byteRun{r.begin, o.begin})
			}
			r.begin = o.end
		}
		if r.begin < r.end {
			out = append(out, r)
		}
	}
	return out
}
