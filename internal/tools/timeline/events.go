package timeline

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// file is a trace in Chrome's format: an object, or only the list of events.
type file struct {
	Events []event `json:"traceEvents"`
	Other  struct {
		Predicted bool    `json:"predicted"`
		Machine   string  `json:"machine"`
		Calls     int     `json:"calls"`
		Call      float64 `json:"call_us"`              // time of a call, in predictions only
		Untraced  float64 `json:"us_per_call_untraced"` // time of a call without tracing, in traces of programs only
	} `json:"otherData"`
	Distributed *struct {
		Rank int `json:"rank"`
	} `json:"distributedInfo"` // in traces of PyTorch's profiler only
}

// event is one event of a trace. Numbers may be given as texts. Processes and threads may be identified by numbers or
// texts.
type event struct {
	Phase    string                     `json:"ph"`
	Name     string                     `json:"name"`
	Category string                     `json:"cat"`
	Process  json.RawMessage            `json:"pid"`
	Thread   json.RawMessage            `json:"tid"`
	ID       json.RawMessage            `json:"id"`
	Time     json.Number                `json:"ts"`
	Duration json.Number                `json:"dur"`
	Args     map[string]json.RawMessage `json:"args"`
}

// parse reads a file, which gzip may have packed.
func parse(name string, r io.Reader) (*file, error) {
	text, err := unpacked(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := &file{}
	if list := bytes.TrimSpace(text); bytes.HasPrefix(list, []byte("[")) {
		err = json.Unmarshal(text, &f.Events)
	} else {
		err = json.Unmarshal(text, f)
	}
	if err != nil {
		return nil, located(name, text, err)
	}
	return f, nil
}

func unpacked(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(r)
	if err != nil || !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		return text, err
	}
	packed, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(packed)
}

// located adds the position of a JSON error in the text.
func located(name string, text []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	var at int64
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at = kind.Offset
	default:
		return fmt.Errorf("%s: not a trace of Chrome's form: %w", name, err)
	}
	before := text[:min(at, int64(len(text)))]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Errorf("%s:%d:%d: not a trace of Chrome's form: %w", name, line, len(before)-bytes.LastIndexByte(before, '\n'), err)
}

// nanoseconds converts a decimal number of microseconds without a float, because PyTorch's times are too large for one.
// It drops digits below 1 ns. Only a number with an exponent goes through a float.
func nanoseconds(us json.Number) (Time, error) {
	if us == "" {
		return 0, nil
	}
	text := string(us)
	if strings.ContainsAny(text, "eE") {
		value, err := us.Float64()
		return Time(value * 1000), err
	}
	whole, fraction, _ := strings.Cut(text, ".")
	value, err := strconv.ParseInt(whole+(fraction + "000")[:3], 10, 64)
	return Time(value), err
}

// plain returns a JSON value as text, without quotation marks.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
