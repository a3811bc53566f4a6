package launch

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// printer merges the output of the ranks line by line. Rank 0's standard output is the report of the run and passes
// through as it is. If there are several ranks, all other lines that ranks print start with the rank.
type printer struct {
	mutex   sync.Mutex
	options Options
	writers map[int][]*lineWriter // writers of each rank, by rank
}

func newPrinter(options Options) *printer {
	return &printer{options: options, writers: map[int][]*lineWriter{}}
}

func (p *printer) stdout(rank int) io.Writer { return p.writer(rank, p.options.Stdout, rank > 0) }
func (p *printer) stderr(rank int) io.Writer { return p.writer(rank, p.options.Stderr, true) }

func (p *printer) writer(rank int, to io.Writer, tagged bool) io.Writer {
	w := &lineWriter{printer: p, to: to}
	if tagged && p.options.N > 1 {
		w.prefix = fmt.Sprintf("[%d] ", rank)
	}
	p.writers[rank] = append(p.writers[rank], w)
	return w
}

// flush prints the unfinished last lines of a rank that has ended, and adds a newline.
func (p *printer) flush(rank int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, w := range p.writers[rank] {
		if len(w.partial) > 0 {
			w.line(append(w.partial, '\n'))
			w.partial = nil
		}
	}
}

// notef prints a message of the launcher to standard error.
func (p *printer) notef(format string, args ...any) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	fmt.Fprintf(p.options.Stderr, "hirgen run: "+format+"\n", args...)
}

// lineWriter prints whole lines with a prefix.
type lineWriter struct {
	printer *printer
	to      io.Writer
	prefix  string
	partial []byte // the line that has not ended yet
}

// Write implements io.Writer. It ignores errors, so that no rank dies because the launcher's output is a closed pipe.
func (w *lineWriter) Write(data []byte) (int, error) {
	w.printer.mutex.Lock()
	defer w.printer.mutex.Unlock()
	w.partial = append(w.partial, data...)
	for {
		end := bytes.IndexByte(w.partial, '\n')
		if end < 0 {
			return len(data), nil
		}
		w.line(w.partial[:end+1])
		w.partial = w.partial[end+1:]
	}
}

func (w *lineWriter) line(text []byte) {
	_, _ = fmt.Fprintf(w.to, "%s%s", w.prefix, text)
}
