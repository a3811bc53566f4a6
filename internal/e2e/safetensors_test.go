package e2e

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/eval"
)

// The safetensors format: the length of a JSON header (8 bytes, little endian), the header, the bytes of the tensors.
// This code follows the description of the format and shares nothing with the programs, so that it can check what they
// read and write.

type tensorHeader struct {
	DType   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

var formatNames = map[domain.DType]string{domain.FP32: "F32", domain.FP16: "F16", domain.BF16: "BF16", domain.Int64: "I64"}

// writeSafetensors writes one tensor in a file.
func writeSafetensors(t *testing.T, path, name string, dtype domain.DType, a *eval.Array) {
	t.Helper()
	var data []byte
	for _, value := range a.Data {
		switch dtype {
		case domain.FP32:
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(value)))
		case domain.BF16:
			data = binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(float32(value))>>16))
		case domain.Int64:
			data = binary.LittleEndian.AppendUint64(data, uint64(value))
		default:
			t.Fatalf("no encoding of %s", dtype)
		}
	}
	header, err := json.Marshal(map[string]tensorHeader{name: {formatNames[dtype], a.Shape, [2]int64{0, int64(len(data))}}})
	if err != nil {
		t.Fatal(err)
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	if err := os.WriteFile(path, append(append(file, header...), data...), 0o644); err != nil {
		t.Fatal(err)
	}
}

// openSafetensors reads a file: its header by name, and the bytes after it.
func openSafetensors(t *testing.T, path string) (header map[string]json.RawMessage, data []byte) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(file) < 8 || binary.LittleEndian.Uint64(file) > uint64(len(file)-8) {
		t.Fatalf("%s: a file of %d bytes has no complete header", path, len(file))
	}
	end := 8 + int(binary.LittleEndian.Uint64(file))
	if err := json.Unmarshal(file[8:end], &header); err != nil {
		t.Fatalf("%s: %v in header %s", path, err, file[8:end])
	}
	return header, file[end:]
}

// readSafetensors reads one tensor from a file.
func readSafetensors(t *testing.T, path, name string, dtype domain.DType) *eval.Array {
	t.Helper()
	tensors, bytes := openSafetensors(t, path)
	var header tensorHeader
	if err := json.Unmarshal(tensors[name], &header); err != nil || header.DType != formatNames[dtype] {
		t.Fatalf("%s: tensor %s is %s (%v), want element type %s", path, name, tensors[name], err, formatNames[dtype])
	}
	a := &eval.Array{Shape: header.Shape}
	for data := bytes[header.Offsets[0]:header.Offsets[1]]; len(data) > 0; data = data[dtype.Size():] {
		a.Data = append(a.Data, decode(data, dtype))
	}
	return a
}

func decode(data []byte, dtype domain.DType) float64 {
	if dtype == domain.FP32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(data)))
	}
	return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(data)) << 16))
}

// sameArray returns an error that names the first element in which two arrays differ, or nil.
func sameArray(got, want *eval.Array) error {
	if fmt.Sprint(got.Shape) != fmt.Sprint(want.Shape) || len(got.Data) != len(want.Data) {
		return fmt.Errorf("shape %v with %d elements, want %v with %d", got.Shape, len(got.Data), want.Shape, len(want.Data))
	}
	for i := range want.Data {
		if got.Data[i] != want.Data[i] {
			return fmt.Errorf("element %d is %v, want %v", i, got.Data[i], want.Data[i])
		}
	}
	return nil
}
