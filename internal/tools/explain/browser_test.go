package explain_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/browser"
)

// user acts as a user of the page: it points at a line of C++, steps back by a pass, and searches. It returns what the
// page shows.
const user = `(() => {
const saw = [
  "stage: " + $("stage").textContent + ", in #" + all("main > section:not([hidden])").map((e) => e.id),
  "spec kept lit: " + all("#spec .pin i").map((e) => e.textContent) + ", of what the pass put in: " + (all("#text .pin.added").length > 0),
], key = (k) => document.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true }));
all("#program .code > div").find((e) => e.textContent.includes("ncclAllGather")).dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
saw.push("spec lit: " + all("#spec .on i").map((e) => e.textContent), "calls: " + all("#calls .exact").map((e) => e.lastChild.textContent.trim().split("(")[0]));
key("2"); key("ArrowLeft");
saw.push("stage: " + $("stage").textContent + ", taken out: " + (all("#text .taken").length > 0));
key("3"); $("find").value = "streamwait"; $("find").dispatchEvent(new Event("input"));
$("find").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
saw.push("search: " + $("found").textContent);
key("Escape");
saw.push("lit behind Escape: " + all(".on, .pin").length);
show("program");
saw.push("first words: " + all("#program .word").slice(0, 2).map((e) => e.textContent));
saw.push("cut: " + tabs.filter((b) => { show(b.dataset.tab); return $(tab).scrollWidth > $(tab).clientWidth; }).map((b) => b.textContent));
return saw.join("\n");
})()`

// TestPageInBrowser loads a page from disk in headless Chromium. It is skipped if Chromium is not installed. It checks
// that the script shows the last pass that changed the host program, highlights related lines, colours the program and
// obeys keys, and that nothing is cut off in a window of 800 pixels.
func TestPageInBrowser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(written(t, collect(t, "ag_matmul"))), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t)
	b.Load(path+"#show=passes&line=12", 800, 900, "light")
	got := browser.Value[string](b, user)
	want := `stage: host IR after overlap, in #passes
spec kept lit: 12, of what the pass put in: true
spec lit: 12
calls: NcclCall
stage: host IR after assign-transport, taken out: true
search: 1 of 3
lit behind Escape: 0
first words: namespace,namespace
cut: `
	if got != want {
		t.Errorf("a reader sees\n%s\nand not\n%s", got, want)
	}
}
