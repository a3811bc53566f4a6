package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// watchEvery is the polling interval of a watched file. Polling is cheap and works on every file system.
const watchEvery = 150 * time.Millisecond

// watch calls each, and calls it again whenever the text of one of the files changes, until the command is interrupted.
// It reports errors and continues, except after a usage error.
func watch(cmd *cobra.Command, paths []string, each func() error) error {
	if slices.Contains(paths, "-") {
		return usagef("--watch: standard input does not change; name files")
	}
	for {
		seen := textsOf(paths)
		err := each()
		if usage := new(usageError); errors.As(err, &usage) {
			return err
		}
		report(cmd.ErrOrStderr(), cmd, err)
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: watching %s, Ctrl-C ends\n", time.Now().Format(time.TimeOnly), strings.Join(paths, ", "))
		ctx, stop := interruptible(cmd.Context()) // only here: a signal ends a long check at once
		again := changed(ctx, paths, seen)
		stop()
		if !again {
			return nil
		}
	}
}

// changed waits until one of the files has another text. It returns false if the command is interrupted.
func changed(ctx context.Context, paths []string, seen [][]byte) bool {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
			if !slices.EqualFunc(textsOf(paths), seen, bytes.Equal) {
				return true
			}
		}
	}
}

// textsOf returns the texts of files.
func textsOf(paths []string) [][]byte {
	var texts [][]byte
	for _, path := range paths {
		texts = append(texts, textOf(path))
	}
	return texts
}

// textOf returns the first 2 MiB of a file for comparison. It is empty while the file does not exist, as when an editor
// replaces it.
func textOf(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, 2<<20))
	return text
}
