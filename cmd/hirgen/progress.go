package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hirgen/hirgen/internal/tools/bench"
)

// progress returns a function that shows the current step: on a terminal as bar does, elsewhere with a line when the step
// changes. The argument all of that function is 0 if the number of steps is not known.
func progress(w io.Writer) bench.Progress {
	if file, ok := w.(io.Reader); ok && isTerminal(file) {
		begin := time.Now()
		return func(done, all int, next string) { bar(w, time.Since(begin), done, all, next) }
	}
	last := ""
	return func(done, all int, next string) {
		if next == "" || next == last {
			return
		}
		last = next
		if all > 0 {
			next = fmt.Sprintf("%d/%d  %s", done, all, next)
		}
		fmt.Fprintln(w, next)
	}
}

// bar draws a bar over the previous bar, with the remaining time after the first step. If all is 0, it prints a line
// instead. If all steps are done and next is empty, it removes the previous bar.
func bar(w io.Writer, took time.Duration, done, all int, next string) {
	const width = 24
	if done >= all && next == "" {
		fmt.Fprint(w, "\r\x1b[K")
		return
	}
	if all == 0 { // the text may be wider than the terminal, which a bar must not be
		fmt.Fprintf(w, "\r\x1b[K%s\n", next)
		return
	}
	full := width * done / max(all, 1)
	left := ""
	if done > 0 {
		left = (took * time.Duration(all-done) / time.Duration(done)).Round(time.Second).String() + " left"
	}
	fmt.Fprintf(w, "\r\x1b[K[%s%s] %d/%d  %s  %s", strings.Repeat("#", full), strings.Repeat(".", width-full), done, all, left, next)
}
