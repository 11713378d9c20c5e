package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// figure is a measured number with its limit; one without a limit is only reported.
type figure struct {
	what string
	mark float64 // at most this; 0 with free: no mark
	got  float64
	unit string
	free bool
}

func (f figure) missed() bool { return !f.free && f.got > f.mark }

// result collects figures.
type result struct{ figures []figure }

func (r *result) add(what string, mark, got float64, unit string) {
	r.figures = append(r.figures, figure{what: what, mark: mark, got: got, unit: unit})
}

func (r *result) report(what string, got float64, unit string) {
	r.figures = append(r.figures, figure{what: what, got: got, unit: unit, free: true})
}

// table draws the figures as a Markdown table.
func (r *result) table() string {
	var b strings.Builder
	b.WriteString("| what | mark | measured | |\n|---|---:|---:|---|\n")
	for _, f := range r.figures {
		mark, verdict := "≤ "+number(f.mark)+" "+f.unit, "pass"
		switch {
		case f.free:
			mark, verdict = "–", ""
		case f.missed():
			verdict = "MISS"
		}
		fmt.Fprintf(&b, "| %s | %s | %s %s | %s |\n", f.what, mark, number(f.got), f.unit, verdict)
	}
	return b.String()
}

func number(v float64) string {
	switch {
	case v == float64(int64(v)):
		return fmt.Sprintf("%d", int64(v))
	case v < 0.1:
		return fmt.Sprintf("%.3f", v)
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// percentile is the nearest rank, in milliseconds.
func percentile(d []time.Duration, p int) float64 {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	return ms(d[max((len(d)*p+99)/100-1, 0)])
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func middle(n []int) float64 {
	if len(n) == 0 {
		return 0
	}
	n = slices.Sorted(slices.Values(n))
	return float64(n[len(n)/2])
}
