package emit

import "testing"

// TestFloatLiterals checks how constants of a spec are spelled as fp32 constants of C++.
func TestFloatLiterals(t *testing.T) {
	for number, want := range map[string]string{
		"8": "8.0F", "-3": "-3.0F", "0.125": "0.125F", "1e-05": "1e-05F", "0": "0.0F", "1.1754944e-38": "1.1754944e-38F",
		"1e-40": "0x1.16c2p-133F", "-1e-45": "-0x1p-149F",
	} {
		if got := floatLiteral(number); got != want {
			t.Errorf("%s is spelled %s, want %s", number, got, want)
		}
	}
}
