// Package browser opens pages of hirgen in a headless browser, to test their content and behaviour.
package browser

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// limit is the time limit of a test. It is long, because other work can slow the machine.
const limit = 5 * time.Minute

// A Browser has one page open. Console messages and uncaught exceptions fail the test.
type Browser struct {
	t          *testing.T
	ctx        context.Context //nolint:containedctx // it is the browser
	mutex      sync.Mutex
	complaints []string
}

// Open starts Chromium and stops it at the end of the test. It skips the test if there is no Chromium.
func Open(t *testing.T) *Browser {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		found, _ := exec.LookPath(name)
		program = cmp.Or(program, found)
	}
	if program == "" {
		t.Skip("there is no Chromium, in which pages are tested; Debian's package chromium has it")
	}
	ctx, stop := context.WithTimeout(t.Context(), limit)
	t.Cleanup(stop)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox)
	ctx, stop = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	b := &Browser{t: t, ctx: ctx}
	b.do()
	if err := chromedp.Listen(ctx, b.collectEvent); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.complain)
	return b
}

// collectEvent collects console messages and uncaught exceptions of the page.
func (b *Browser) collectEvent(event any) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		b.complaints = append(b.complaints, text)
	case *runtime.EventConsoleAPICalled:
		for _, argument := range e.Args {
			b.complaints = append(b.complaints, fmt.Sprintf("console.%s: %s", e.Type, argument.Value))
		}
	}
}

func (b *Browser) complain() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, text := range b.complaints {
		b.t.Errorf("the browser says: %s", text)
	}
}

func (b *Browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// Load loads a page from disk into a window of the given size in pixels. scheme is the user's preference, light or
// dark.
func (b *Browser) Load(path string, width, height int64, scheme string) {
	b.t.Helper()
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
		b.t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(width, height), chromedp.Navigate("file://"+path))
}

// Value evaluates a JavaScript expression in the page and returns its value.
func Value[T any](b *Browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Press presses keys one after the other. Package kb of chromedp has the names of special keys.
func (b *Browser) Press(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// Point moves the pointer to a position in the window, in CSS pixels.
func (b *Browser) Point(x, y float64) {
	b.t.Helper()
	b.do(chromedp.MouseEvent("mouseMoved", x, y))
}

// Click clicks at a position in the window, in CSS pixels.
func (b *Browser) Click(x, y float64) {
	b.t.Helper()
	b.do(chromedp.MouseClickXY(x, y))
}

// Picture saves a screenshot into the folder that HIRGEN_SCREENSHOTS names, if it is set.
func (b *Browser) Picture(name string) {
	b.t.Helper()
	folder := os.Getenv("HIRGEN_SCREENSHOTS")
	if folder == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o600); err != nil {
		b.t.Fatal(err)
	}
}
