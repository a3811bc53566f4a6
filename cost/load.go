package cost

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

//go:embed machines/*.json
var machineFiles embed.FS

// Machines lists the names of the machines that come with hirgen.
func Machines() []string {
	var names []string
	files, _ := machineFiles.ReadDir("machines")
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".json"))
	}
	return names
}

// LoadMachine returns the machine of that name that comes with hirgen, or reads the file with that path.
func LoadMachine(name string) (*Machine, error) {
	if text, err := machineFiles.ReadFile("machines/" + name + ".json"); err == nil {
		return ParseMachine(name, text)
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(name, "./\\") {
		return nil, fmt.Errorf("there is no machine %q: take %s, or a file that --calibrate of an emitted program wrote",
			name, strings.Join(Machines(), ", "))
	}
	if err != nil {
		return nil, err
	}
	return ParseMachine(name, text)
}

// ParseMachine reads a machine's JSON form. file is its name in errors, which contain the line and column, or
// the field, of the mistake.
func ParseMachine(file string, text []byte) (*Machine, error) {
	m := &Machine{}
	var base struct {
		Like string `json:"like"`
	}
	if json.Unmarshal(text, &base) == nil && base.Like != "" {
		if !slices.Contains(Machines(), base.Like) {
			return nil, fmt.Errorf("%s: like is %q, and a machine that comes with hirgen is one of %s", file, base.Like,
				strings.Join(Machines(), ", "))
		}
		var err error
		if m, err = LoadMachine(base.Like); err != nil {
			return nil, err
		}
		m.Source = "as " + m.Name + ", " + m.Source
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		line, column := position(text, offsetOf(err, d))
		return nil, fmt.Errorf("%s:%d:%d: %w", file, line, column, err)
	}
	if field, why := m.mistake(); why != "" {
		return nil, fmt.Errorf("%s: %s %s", file, field, why)
	}
	return m, nil
}

// offsetOf returns the offset in the text of an error of the decoder.
func offsetOf(err error, d *json.Decoder) int64 {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return syntax.Offset
	case errors.As(err, &wrong):
		return wrong.Offset
	}
	return d.InputOffset()
}

// position returns the line and column, both from 1, of the last of the first offset bytes of the text.
func position(text []byte, offset int64) (line, column int) {
	before := text[:min(max(offset-1, 0), int64(len(text)))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}
