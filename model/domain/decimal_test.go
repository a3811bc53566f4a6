package domain_test

import (
	"testing"

	"github.com/hirgen/hirgen/model/domain"
)

func TestDecimalsRoundToFP32(t *testing.T) {
	for text, want := range map[string]float64{
		"8": 8, "-0.5": -0.5, ".25": 0.25, "3.": 3, "2.5e-1": 0.25, "0e9": 0, "-0.00": 0, "1E3": 1000,
		"0.1": 0x1.99999ap-4, "1e-40": 0x1.16c2p-133, "1e-45": 0x1p-149, "3.4028235e38": 0x1.fffffep+127,
	} {
		if got, err := domain.ParseDecimal(text); got != want || err != nil {
			t.Errorf("%s is %v (%v), want %v", text, got, err, want)
		}
	}
}

func TestNoDecimals(t *testing.T) {
	for _, text := range []string{
		"", " 1", "1 ", "0x1p3", "0x10", "1_0", "0b1", "inf", "-Inf", "nan", "1e", "e5", ".", "1.2.3", "1,5", "--1", "1e-46", "1e-50", "-1e-400",
		"1e39", "-1e400",
		"010", "00.5", "-01", "+1", "+.25",
	} {
		if got, err := domain.ParseDecimal(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
