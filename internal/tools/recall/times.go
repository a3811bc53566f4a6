package recall

import (
	"fmt"
	"io"
	"syscall"
	"time"
)

// processorTime returns the processor time of this process. It depends less on other load than wall-clock time.
func processorTime() time.Duration {
	used := usage()
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func usage() syscall.Rusage {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // cannot fail for the own process
	return used
}

// PrintExamples prints a row for each example and reports whether all are proved within their limits.
func PrintExamples(w io.Writer, list []*Timing) (ok bool) {
	ok = true
	t := table(w)
	fmt.Fprintln(t, "example\tranks\toperations\tprocessor seconds\tlimit\t")
	for _, x := range list {
		fmt.Fprintf(t, "%s\t%d\t%d\t%.2f\t%.1f\t\n", x.Name, x.Ranks, x.Operations, x.Took.Seconds(), x.Limit.Seconds())
		ok = ok && x.Error == nil && x.Took <= x.Limit
	}
	_ = t.Flush() // PrintExamples ignores errors of w
	failures(w, list)
	return ok
}

// PrintRing prints a row for each number of ranks and, below the rows, the peak memory of this process so far. It reports
// whether the ring is proved on all numbers of ranks.
func PrintRing(w io.Writer, list []*Timing) (ok bool) {
	ok = true
	t := table(w)
	fmt.Fprintln(t, "ring, ranks\toperations\tprocessor seconds\tus for an operation\t")
	for _, x := range list {
		fmt.Fprintf(t, "%d\t%d\t%.2f\t%.2f\t\n", x.Ranks, x.Operations, x.Took.Seconds(), x.Took.Seconds()*1e6/float64(max(x.Operations, 1)))
		ok = ok && x.Error == nil
	}
	_ = t.Flush()
	used := usage()
	fmt.Fprintf(w, "most memory: %.2f GB\n", float64(used.Maxrss)*1024/1e9)
	failures(w, list)
	return ok
}

func failures(w io.Writer, list []*Timing) {
	for _, x := range list {
		switch {
		case x.Error != nil:
			fmt.Fprintf(w, "%s on %d ranks: %v\n", x.Name, x.Ranks, x.Error)
		case x.Limit > 0 && x.Took > x.Limit:
			fmt.Fprintf(w, "%s on %d ranks takes longer than %v\n", x.Name, x.Ranks, x.Limit)
		}
	}
}
