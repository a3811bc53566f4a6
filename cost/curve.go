package cost

import (
	"encoding/json"
	"math"
	"sort"
)

// A Curve is a rate in gigabytes a second as a function of the size of a transfer, by points in ascending order of
// bytes. Between two points it is linear in the logarithm of the size; outside the points it is constant. In JSON it is
// a list of pairs: [[65536, 40], [1048576, 180]].
type Curve []Point

// Point is one point of a Curve.
type Point struct {
	Bytes float64
	Rate  float64 // GB/s
}

// MarshalJSON writes the point as a pair [bytes, GB/s].
func (p Point) MarshalJSON() ([]byte, error) { return json.Marshal([2]float64{p.Bytes, p.Rate}) }

// UnmarshalJSON reads the point from a pair [bytes, GB/s].
func (p *Point) UnmarshalJSON(text []byte) error {
	var pair [2]float64
	err := json.Unmarshal(text, &pair)
	p.Bytes, p.Rate = pair[0], pair[1]
	return err
}

// At returns the rate for a size, in GB/s.
func (c Curve) At(bytes float64) float64 {
	i := sort.Search(len(c), func(i int) bool { return c[i].Bytes >= bytes })
	switch {
	case i == 0:
		return c[0].Rate
	case i == len(c):
		return c[i-1].Rate
	}
	low, high := c[i-1], c[i]
	t := math.Log(bytes/low.Bytes) / math.Log(high.Bytes/low.Bytes)
	return low.Rate + t*(high.Rate-low.Rate)
}

// Time returns how long a transfer of that many bytes takes, in microseconds; 0 for no bytes.
func (c Curve) Time(bytes float64) float64 {
	if bytes <= 0 {
		return 0
	}
	return bytes / c.At(bytes) / 1e3
}

// mistake returns the error in a curve, or "".
func (c Curve) mistake() string {
	if len(c) == 0 {
		return "is missing"
	}
	for i, p := range c {
		if p.Bytes <= 0 || p.Rate <= 0 || i > 0 && p.Bytes <= c[i-1].Bytes {
			return "is not a list of [bytes, GB/s] in ascending order of bytes, all above 0"
		}
	}
	return ""
}
