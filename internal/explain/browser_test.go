package explain_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// user is what a reader does: looks, points at a line of C++, steps back by a pass, and searches; what is seen goes to the end
// of the page.
const user = `<script>
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
const report = document.createElement("pre"); report.textContent = saw.join("\n"); document.body.append(report);
</script>`

// TestPageInBrowser loads a page from disk in headless Chromium, where there is one: its script shows the last pass that
// changed the host program, lights up what comes from where, and obeys keys.
func TestPageInBrowser(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: the script of the page is not run")
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(written(t, collect(t, "ag_matmul"))+user), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dom, err := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
		"--dump-dom", "file://"+path+"#show=passes&line=12").Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	_, got, _ := strings.Cut(string(dom), "<pre>")
	got, _, _ = strings.Cut(got, "</pre>")
	want := `stage: host IR after overlap, in #passes
spec kept lit: 12, of what the pass put in: true
spec lit: 12
calls: NcclCall
stage: host IR after assign-transport, taken out: true
search: 1 of 3
lit behind Escape: 0`
	if got != want {
		t.Errorf("a reader sees\n%s\nand not\n%s", got, want)
	}
}
