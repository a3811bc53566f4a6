package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/hirgen/hirgen/internal/tools/browser"
)

// TestBrowser opens a page of two traces, one of 64 ranks with long names, in a headless browser. It checks that
// nothing overlaps at the usual widths, light and dark, and that the pointer, the search and the keys do what the page
// says.
func TestBrowser(t *testing.T) {
	page := writePage(t, manyRanks(t, 64), read(t, "testdata/measured.json"))
	b := browser.Open(t)
	for _, width := range []int64{800, 1280, 1920} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%d-%s", width, scheme), func(t *testing.T) {
				b.Load(page, width, 1000, scheme)
				b.Picture(fmt.Sprintf("%d-%s", width, scheme))
				for _, script := range []string{geometry, contrast} {
					for _, text := range browser.Value[[]string](b, script) {
						t.Error(text)
					}
				}
			})
		}
	}
	checkPointer(t, b)
	checkKeys(t, b)
}

// manyRanks returns a trace whose names are longer than the space for them.
func manyRanks(t *testing.T, ranks int) *Trace {
	t.Helper()
	long := strings.Repeat("a long name ", 12)
	var events []map[string]any
	for rank := range ranks {
		events = append(events, map[string]any{"ph": "M", "name": "process_name", "pid": rank,
			"args": map[string]any{"name": fmt.Sprintf("rank %d of %s", rank, long)}})
		for stream := range 3 {
			events = append(events, map[string]any{"ph": "M", "name": "thread_name", "pid": rank, "tid": stream,
				"args": map[string]any{"name": fmt.Sprintf("stream %d, %s", stream, long)}})
			for i := range 12 {
				category := []string{"gemm", "nccl", "copy", "kernel", "event wait"}[(stream+i)%5]
				events = append(events, map[string]any{
					"ph": "X", "cat": category, "name": fmt.Sprintf("%s %d of %s", category, i, long), "pid": rank, "tid": stream,
					"ts": 90*i + 7*stream + rank, "dur": []int{90, 40, 3, 80}[(i+stream)%4], "args": map[string]any{"where": "spec.yaml:12:5", "index": i},
				})
			}
		}
	}
	text, err := json.Marshal(map[string]any{"traceEvents": events, "otherData": map[string]any{"predicted": true, "machine": "h200"}})
	if err != nil {
		t.Fatal(err)
	}
	trace, err := Read(long+".json", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func writePage(t *testing.T, list ...*Trace) string {
	t.Helper()
	var text bytes.Buffer
	if err := Page(&text, list, nil); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// geometry returns errors of the layout: a page wider than its window, overlapping texts of a column, overlapping boxes
// of a trace, names that reach into the chart, and names on slices that are too narrow for them.
const geometry = `(() => {
	const wrong = [], box = e => e.getBoundingClientRect(), text = e => e.textContent.slice(0, 40);
	if (document.documentElement.scrollWidth > innerWidth) wrong.push('the page is wider than its window: ' + document.documentElement.scrollWidth);
	const apart = (list, what) => {
		const boxes = list.map(e => [box(e), e]).sort((a, b) => a[0].top - b[0].top);
		boxes.forEach(([a, x], i) => {
			for (let j = i + 1; j < boxes.length && boxes[j][0].top < a.bottom - 0.01; j++) {
				const [b, y] = boxes[j];
				if (a.left < b.right - 0.01 && b.left < a.right - 0.01) wrong.push(what + ' overlap: ' + text(x) + ' | ' + text(y));
			}
		});
	};
	for (const section of document.querySelectorAll('section')) {
		const names = [...section.querySelectorAll('.names text')];
		apart(names, 'names');
		for (const n of names) if (box(n).right > box(section.querySelector('.chart')).left) wrong.push('name in the chart: ' + text(n));
		apart([...section.querySelectorAll('.time > .s > rect')], 'slices');
	}
	apart([...document.querySelectorAll('#axis text')], 'ticks');
	apart([...document.querySelectorAll('.key li')], 'key');
	for (const s of document.querySelectorAll('.time .s text')) if (box(s).right > box(s.previousSibling).right + 4) wrong.push('cut: ' + text(s));
	for (const s of document.querySelectorAll('.time .s text')) if (getComputedStyle(s).display !== 'none' && box(s.previousSibling).width < 20) wrong.push('no room for: ' + text(s));
	return wrong.slice(0, 10);
})()`

// contrast returns the colours of text whose contrast to their background is below 4.5, the minimum of the WCAG.
const contrast = `(() => {
	const own = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	const light = color => {
		const [r, g, b] = color.match(/[0-9a-f]{2}/g).map(x => parseInt(x, 16) / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const wrong = [];
	for (const [text, behind] of [['--text', '--page'], ['--quiet', '--page'], ['--gemmtext', '--gemm'], ['--on', '--kernel'], ['--on', '--nccl'], ['--on', '--copy']]) {
		const [high, low] = [light(own(text)), light(own(behind))].sort((a, b) => b - a);
		if ((high + 0.05) / (low + 0.05) < 4.5) wrong.push(text + ' on ' + behind + ': ' + (high + 0.05) / (low + 0.05));
	}
	return wrong;
})()`

// checkPointer checks that the page describes the slice under the pointer, or next to it if the slice is narrow, and
// keeps the description after a click.
func checkPointer(t *testing.T, b *browser.Browser) {
	t.Helper()
	at := browser.Value[[]float64](b, `(() => { scrollTo(0, 0); const b = document.querySelector('.time .nccl `+
		`rect').getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })()`)
	b.Point(at[0], at[1])
	if tip := browser.Value[string](b, `tip.hidden ? '' : tip.textContent`); !strings.Contains(tip, "nccl 1 of a long name") ||
		!strings.Contains(tip, "spec.yaml:12:5 · NCCL · 40.0 us") {
		t.Errorf("under the pointer: %q", tip)
	}
	beside := browser.Value[[]float64](b, `(() => { const b = [...document.querySelectorAll('.time .copy rect')].map(e => `+
		`e.getBoundingClientRect()).find(b => b.width < 6); return [b.left - 2, b.top + 9]; })()`)
	b.Point(beside[0], beside[1])
	if tip := browser.Value[string](b, `tip.hidden ? '' : tip.textContent`); !strings.HasPrefix(tip, "copy") {
		t.Errorf("beside a narrow slice: %q", tip)
	}
	b.Click(at[0], at[1])
	b.Point(1, 1)
	if text := browser.Value[string](b, `about.hidden ? '' : about.textContent`); !strings.Contains(text, "index 1") ||
		!strings.Contains(text, "nothing hides it") && !strings.Contains(text, "hidden behind") {
		t.Errorf("after a click: %q", text)
	}
	if browser.Value[bool](b, `!tip.hidden`) {
		t.Error("the tip stays where the pointer is not")
	}
}

// checkKeys checks that the keys zoom, move, search and go to the next match.
func checkKeys(t *testing.T, b *browser.Browser) {
	t.Helper()
	state := func() string {
		return browser.Value[string](b, `zoom.toFixed(2) + ' ' + left.toFixed(2) + ' ' + times[0].getAttribute('width')`)
	}
	for _, step := range []struct{ keys, want string }{
		{"w", "1.50 0.17 150%"}, {"a", "1.50 0.03 150%"}, {"d", "1.50 0.17 150%"}, {"s", "1.00 0.00 100%"}, {"ww0", "1.00 0.00 100%"},
		{"a", "1.00 0.00 100%"},
	} {
		b.Press(step.keys)
		if got := state(); got != step.want {
			t.Errorf("after %s: %s, not %s", step.keys, got, step.want)
		}
	}
	b.Press("/")
	if !browser.Value[bool](b, `document.activeElement === search`) {
		t.Error("/ does not lead to the search")
	}
	browser.Value[string](b, `search.value = ''`) // unlike a user, the driver also types the / into it
	b.Press("rank 63 of")
	if got := browser.Value[string](b, `count.textContent + ' ' + document.querySelectorAll('.hit').length`); got != "36 matches 36" {
		t.Errorf("search finds %q", got)
	}
	b.Press(kb.Enter + kb.Enter)
	b.Picture("search")
	seen := `(() => { const b = all[selected].firstChild.getBoundingClientRect(); return b.width >= 3 && b.top >= 0 && b.bottom <= ` +
		`innerHeight && b.right > 0 && b.left < innerWidth; })()`
	if text := browser.Value[string](b, `about.textContent`); !strings.Contains(text, "rank 63") || !browser.Value[bool](b, seen) {
		t.Errorf("after Enter: %q, or it is not seen", text)
	}
	b.Press(kb.Escape)
	if got := browser.Value[string](b, `selected + ' ' + hits.length + ' ' + about.hidden + ' ' + search.value`); got != "-1 0 true " {
		t.Errorf("after Escape: %q", got)
	}
}
