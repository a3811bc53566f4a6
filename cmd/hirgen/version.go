package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/runtime_cpp"
)

// release is the version of this source, the first one in CHANGELOG.md.
const release = "0.1.0"

// version, commit and built are empty unless a build sets them. If they are empty, hirgen uses what "go install" or
// "go build" records. To set them:
//
//	go build -ldflags "-X main.version=0.1.0-rc1 -X main.commit=$(git rev-parse HEAD) -X main.built=$(date -u +%FT%TZ)"
var version, commit, built string

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of hirgen, of specs and of the C ABI",
		Long: `Print the version of hirgen with its commit and build, the version of specs that it reads, and the version of the C
ABI of the programs that it writes.`,
		Example: "  hirgen version",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return printVersion(cmd) },
	}
}

// printVersion prints the version of hirgen, its origin, its build, and the versions of specs and of the C ABI, a line each.
func printVersion(cmd *cobra.Command) error {
	abi, err := runtime_cpp.ABIVersion()
	if err != nil {
		return err
	}
	info, _ := debug.ReadBuildInfo()
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "hirgen %s\n%s\n%s\nspec %s\nC ABI %s\n",
		number(info), origin(info), build(), model.FormatVersion, abi)
	return err
}

// programVersion returns the version of this program.
func programVersion() string {
	info, _ := debug.ReadBuildInfo()
	return number(info)
}

// number returns the version of -ldflags, or of the module for "go install", or else release. It ignores the version
// that Go gives a checkout, because origin already has the commit.
func number(info *debug.BuildInfo) string {
	if version == "" && fromModule(info) {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return cmp.Or(version, release)
}

// fromModule reports whether a program was built by "go install" with a version: from a module, not from a checkout.
func fromModule(info *debug.BuildInfo) bool {
	return info != nil && strings.HasPrefix(info.Main.Version, "v") && recorded(info)["vcs.revision"] == ""
}

// recorded returns the settings that the go command recorded in this build, by key, such as vcs.revision.
func recorded(info *debug.BuildInfo) map[string]string {
	settings := map[string]string{}
	if info != nil {
		for _, setting := range info.Settings {
			settings[setting.Key] = setting.Value
		}
	}
	return settings
}

// build returns the version of Go and the system of the program, and the time of the build if -ldflags set it.
func build() string {
	text := fmt.Sprintf("built with %s for %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if built != "" {
		text += " at " + built
	}
	return text
}

// origin returns the source that this program was built from, as set by -ldflags, or else as recorded by Go.
func origin(info *debug.BuildInfo) string {
	if commit != "" {
		return "commit " + commit
	}
	settings := recorded(info)
	revision, when := settings["vcs.revision"], settings["vcs.time"]
	switch {
	case revision != "" && settings["vcs.modified"] == "true":
		return "commit " + revision + " of " + when + ", with changes"
	case revision != "":
		return "commit " + revision + " of " + when
	case fromModule(info):
		return "module " + info.Main.Version
	}
	return "commit unknown"
}
