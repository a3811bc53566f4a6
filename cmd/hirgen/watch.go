package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// watchEvery is how often a watched file is read: looking is cheap, and works on every file system.
const watchEvery = 150 * time.Millisecond

// watch does something with a file now, and again whenever its text changes, until the command is interrupted. What
// goes wrong is reported, and is no end.
func watch(cmd *cobra.Command, path string, each func() error) error {
	if path == "-" {
		return usagef("--watch: standard input does not change; name a file")
	}
	for {
		seen := textOf(path)
		err := each()
		if usage := new(usageError); errors.As(err, &usage) {
			return err
		}
		report(cmd.ErrOrStderr(), cmd, err)
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: watching %s, Ctrl-C ends\n", time.Now().Format(time.TimeOnly), path)
		if !changed(cmd.Context(), path, seen) {
			return nil
		}
	}
}

// changed waits until a file has another text; false says that the command was interrupted.
func changed(ctx context.Context, path string, seen []byte) bool {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
			if !bytes.Equal(textOf(path), seen) {
				return true
			}
		}
	}
}

// textOf is the text of a file as far as it is compared; nothing while there is none, as when an editor replaces it.
func textOf(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, 2<<20))
	return text
}
