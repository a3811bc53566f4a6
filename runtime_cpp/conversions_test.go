package runtime_cpp

import (
	"bytes"
	"encoding/binary"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit/gopkg/element"
	"github.com/hirgen/hirgen/model/domain"
)

// printed is a C++ program. For each floating-point type of less than 32 bits, it writes two binary arrays. The first
// has the codes (2 bytes each) of floats: for each upper half, those with the lower halves 0, 1 and 0xFFFF. The second
// has the float value of each code of the type.
const printed = `
#include <cstdio>
#include "hirgen/numerics.hpp"

template <typename T>
void print() {
  for (uint32_t i = 0; i < 3 << 16; ++i) {
    const uint32_t bits = i / 3 << 16 | (i % 3 == 2 ? 0xFFFF : i % 3), none = 0;
    float x;
    T y;
    std::memcpy(&x, &bits, sizeof(x));
    hirgen::narrow(x, y);
    std::fwrite(&y, sizeof(y), 1, stdout);
    std::fwrite(&none, 2 - sizeof(y), 1, stdout);
  }
  for (uint32_t i = 0; i < 1 << 8 * sizeof(T); ++i) {
    T y;
    std::memcpy(&y, &i, sizeof(y));
    const float x = hirgen::widen(y);
    std::fwrite(&x, sizeof(x), 1, stdout);
  }
}

int main() {
#define PRINT(enumerator, name, type, ...) if constexpr (sizeof(type) < 4) print<type>();
  HG_FLOAT_TYPES(PRINT)
}
`

// TestConversions checks that the evaluator, the Go package and C++ convert numbers to and from each narrow type in the
// same way. It compiles the C++ with the headers of the CPU device and, if they are installed, with those of CUDA.
func TestConversions(t *testing.T) {
	headers, _ := filepath.Glob("../.tools/cuda-venv/lib/python3*/site-packages/nvidia/cu13/include")
	for _, include := range append(headers, "cpu/include") {
		program := filepath.Join(t.TempDir(), "print")
		args := []string{"-std=c++20", "-O1", "-Iinclude", "-isystem" + include, "-isystem" + include + "/../../nccl/include",
			"-x", "c++", "-", "-o", program}
		if include == "cpu/include" {
			args = append(args, "-DHIRGEN_CPU_DEVICE")
		}
		build := exec.Command("g++", args...)
		build.Stdin = strings.NewReader(printed)
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		output, err := exec.Command(program).Output()
		if err != nil {
			t.Fatal(err)
		}
		in := bytes.NewReader(output)
		sameConversions(t, in, domain.BF16, element.ToBF16)
		sameConversions(t, in, domain.FP16, element.ToFP16)
		sameConversions(t, in, domain.FP8E4M3, element.ToFP8E4M3)
		sameConversions(t, in, domain.FP8E5M2, element.ToFP8E5M2)
	}
}

func sameConversions[T interface {
	~uint8 | ~uint16
	Float32() float32
}](t *testing.T, in *bytes.Reader, dtype domain.DType, to func(float32) T) {
	t.Helper()
	codes, values := make([]uint16, 3<<16), make([]float32, 1<<(8*dtype.Size()))
	if binary.Read(in, binary.LittleEndian, codes) != nil || binary.Read(in, binary.LittleEndian, values) != nil {
		t.Fatal(dtype, "is not printed")
	}
	same := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b }
	for i, code := range codes {
		x := math.Float32frombits(uint32(i/3<<16 | []int{0, 1, 0xFFFF}[i%3]))
		got, want := values[code], float32(dtype.Round(float64(x)))
		if !same(got, want) || !same(to(x).Float32(), want) || T(code) != to(x) && (x == x || dtype.Saturates()) {
			t.Fatalf("%s of %v is %v in C++, %v in the evaluator and %v in Go", dtype, x, got, want, to(x))
		}
	}
	for code, value := range values {
		if !same(value, T(code).Float32()) {
			t.Fatalf("code %#x of %s is %v in C++ and %v in Go", code, dtype, value, T(code).Float32())
		}
	}
}
