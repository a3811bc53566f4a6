package bench

import (
	"math"
	"slices"
)

// Status is the outcome of a case.
type Status string

// The statuses of a row. A waived row was not measured, for the reason in Reason: too few GPUs, or a spec or schedule
// that hirgen refuses. It is not a success.
const (
	OK     Status = "ok"
	Wrong  Status = "wrong"
	Waived Status = "waived"
	Failed Status = "failed"
)

// A Row is a case with its measurements. Times are in microseconds per call on the slowest rank.
type Row struct {
	Case
	Name      string            `json:"name,omitempty"`
	Ranks     int               `json:"ranks,omitempty"`
	Device    string            `json:"device"`
	Machine   string            `json:"machine,omitempty"`  // "2 x NVIDIA H200"
	Values    map[string]int64  `json:"params,omitempty"`   // every parameter of the spec
	Schedule  map[string]string `json:"schedule,omitempty"` // value of every field
	Folder    string            `json:"folder,omitempty"`   // folder of the emitted program
	Digest    string            `json:"digest,omitempty"`   // digest of the emitted program
	Status    Status            `json:"status"`
	Reason    string            `json:"reason,omitempty"`
	Repeats   []float64         `json:"us,omitempty"`
	Median    float64           `json:"median_us,omitempty"`
	P10       float64           `json:"p10_us,omitempty"`
	P90       float64           `json:"p90_us,omitempty"`
	Wrongs    int64             `json:"wrong"`
	Unchecked bool              `json:"unchecked,omitempty"`   // its elements were not compared: --no-check
	Flops     float64           `json:"flops,omitempty"`       // FLOP of the GEMMs of a rank
	Products  float64           `json:"products_us,omitempty"` // time of the whole GEMMs of the group's first program with GEMMs, alone
	// sum of the times of the program's communications: predicted on GPUs, or measured in rows that
	// scripts/bench_gpu/pages.py makes; 0: none or unknown
	Moves     float64 `json:"moves_us,omitempty"`
	Predicted float64 `json:"predicted_us,omitempty"`
	Memory    int64   `json:"memory_bytes,omitempty"`
	Tiled     string  `json:"tiled_attention,omitempty"`  // why hirgen's own kernels compute attention on a GPU
	Against   float64 `json:"baseline_by_this,omitempty"` // how many times as fast as the baseline
	Peer      bool    `json:"peer,omitempty"`             // the row is a peer of Options.Peers, not a program of hirgen
	// AgainstPeer is the speedup over the fastest peer.
	AgainstPeer float64 `json:"best_peer_by_this,omitempty"`
	Unsure      string  `json:"-"` // not empty: the difference to the baseline is within the spread
}

// take sets the times of the repeats and their percentiles.
func (r *Row) take(repeats []float64) {
	r.Repeats = repeats
	sorted := slices.Sorted(slices.Values(repeats))
	r.P10, r.Median, r.P90 = quantile(sorted, 0.1), quantile(sorted, 0.5), quantile(sorted, 0.9)
}

// TFLOPs returns the GEMM throughput on a GPU over the whole call. It is 0 if there are no GEMMs.
func (r *Row) TFLOPs() float64 { return ratio(r.Flops, r.Median*1e6) }

// OfProducts returns the time of the GEMMs alone divided by the time of the call.
func (r *Row) OfProducts() float64 { return ratio(r.Products, r.Median) }

// OfBound returns the larger of the GEMM time and the communication time, divided by the time of the call. 1 is perfect
// overlap.
func (r *Row) OfBound() float64 { return ratio(max(r.Products, r.Moves), r.Median) }

// OfPrediction returns the predicted time divided by the measured time.
func (r *Row) OfPrediction() float64 { return ratio(r.Predicted, r.Median) }

// Exposed returns the time of a call beyond its GEMMs: exposed communication and all other kernels.
func (r *Row) Exposed() float64 {
	if r.Products == 0 || r.Median == 0 {
		return 0
	}
	return max(0, r.Median-r.Products)
}

func ratio(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	return a / b
}

// quantile interpolates linearly between sorted values. It returns 0 if there are none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := q * float64(len(sorted)-1)
	below := int(math.Floor(at))
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (sorted[above]-sorted[below])*(at-float64(below))
}
