package main

import (
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionSaysWhatItIs(t *testing.T) {
	_, long, _ := hirgen(t, "", "version")
	exit, short, stderr := hirgen(t, "", "--version")
	if exit != exitOK || short != long {
		t.Errorf("--version: exit code %d, and\n%s%sis not\n%s", exit, short, stderr, long)
	}
	for _, want := range []string{`(?m)\Ahirgen \d+\.\d+\.\d+$`, `(?m)^commit `, `(?m)^built with go1\S* for \w+/\w+$`, `(?m)^spec \d+$`,
		`(?m)^C ABI \d+$`} {
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
		set  string // the commit set by -ldflags
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

func TestNumberIsThatOfTheModule(t *testing.T) {
	module := &debug.BuildInfo{Main: debug.Module{Version: "v0.1.1-rc.1"}}
	checkout := &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261123040000-abcdef"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abcdef"}}}
	for _, c := range []struct {
		info      *debug.BuildInfo
		set, want string // set by -ldflags
	}{
		{nil, "", release},
		{checkout, "", release},
		{&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "", release},
		{module, "", "0.1.1-rc.1"},
		{module, "0.2.0", "0.2.0"},
	} {
		version = c.set
		if got := number(c.info); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	version = ""
}

// TestPagesStateTheVersions checks that the pages state the versions that hirgen prints. The first entry of the
// changelog has the version of the program, and its first line those of specs and of the C ABI.
func TestPagesStateTheVersions(t *testing.T) {
	_, printed, _ := hirgen(t, "", "version")
	lines := strings.Split(printed, "\n")
	spec, abi := lines[3], lines[4]
	for page, want := range map[string]string{
		"../../CHANGELOG.md": `\A[^#]*# Changes[^#]*\n## ` + regexp.QuoteMeta(release) + `\n\n.*; ` + spec + `, ` + abi + `\. `,
		"../../docs/versions.md": `\n    hirgen ` + regexp.QuoteMeta(release) + `\n    commit .*\n    built with .*\n    ` + spec + `\n    ` +
			abi + `\n`,
		"../../docs/spec.md": `\A# Spec reference, version ` + strings.TrimPrefix(spec, "spec ") + `\n`,
	} {
		if text := read(t, page); !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("%s does not match %s:\n%.600s", page, want, text)
		}
	}
}
