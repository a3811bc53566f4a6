package main

import (
	"regexp"
	"runtime/debug"
	"testing"
)

func TestVersionSaysWhatItIs(t *testing.T) {
	_, long, _ := hirgen(t, "", "version")
	exit, short, stderr := hirgen(t, "", "--version")
	if exit != exitOK || short != long {
		t.Errorf("--version: exit code %d, and\n%s%sis not\n%s", exit, short, stderr, long)
	}
	for _, want := range []string{`(?m)\Ahirgen \d+\.\d+\.\d+$`, `(?m)^commit `, `(?m)^built with go1\S* for \w+/\w+$`, `(?m)^spec \d+$`, `(?m)^C ABI \d+$`} {
		if !regexp.MustCompile(want).MatchString(long) {
			t.Errorf("no %s in:\n%s", want, long)
		}
	}
}

func TestOriginIsTheBestThatIsKnown(t *testing.T) {
	settings := func(pairs ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}
		for i := 0; i < len(pairs); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return info
	}
	checkout := settings("vcs.revision", "abc", "vcs.time", "2026-11-23T04:00:00Z", "vcs.modified", "true")
	for _, c := range []struct {
		info *debug.BuildInfo
		set  string // by -ldflags
		want string
	}{
		{nil, "", "commit unknown"},
		{settings(), "", "commit unknown"},
		{checkout, "", "commit abc of 2026-11-23T04:00:00Z, with changes"},
		{settings("vcs.revision", "abc", "vcs.time", "2026-11-23T04:00:00Z"), "", "commit abc of 2026-11-23T04:00:00Z"},
		{&debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}}, "", "module v0.1.0"},
		{checkout, "def", "commit def"},
	} {
		commit = c.set
		if got := origin(c.info); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	commit = ""
}

// The changelog's first version is the program's.
func TestChangelogBeginsWithTheRelease(t *testing.T) {
	found := regexp.MustCompile(`(?m)^## (\S+)`).FindStringSubmatch(read(t, "../../CHANGELOG.md"))
	if len(found) < 2 || found[1] != release {
		t.Errorf("CHANGELOG.md begins with %q, and the program is %s", found, release)
	}
}
