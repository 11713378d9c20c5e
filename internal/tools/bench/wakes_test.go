package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// woken counts how often goroutines of this process went on after they had waited, by the functions of ours that
// waited.
func woken() map[string]int64 {
	n, _ := runtime.BlockProfile(nil)
	list := make([]runtime.BlockProfileRecord, n+100)
	n, _ = runtime.BlockProfile(list)
	out := map[string]int64{}
	for _, r := range list[:n] {
		var names []string
		for frames, more := runtime.CallersFrames(r.Stack()), true; more && len(names) < 3; {
			var f runtime.Frame
			f, more = frames.Next()
			if !strings.HasPrefix(f.Function, "runtime.") {
				names = append(names, f.Function[strings.LastIndexByte(f.Function, '/')+1:])
			}
		}
		out[strings.Join(names, " < ")] += r.Count
	}
	return out
}

// wakesDuring returns what woken counts in a time, without what it has never counted, the most frequent first.
func wakesDuring(d time.Duration) (names []string, counts map[string]int64) {
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	before := woken()
	time.Sleep(d)
	counts = woken()
	for name, n := range before {
		counts[name] -= n
	}
	maps.DeleteFunc(counts, func(_ string, n int64) bool { return n <= 0 })
	return slices.SortedFunc(maps.Keys(counts), func(x, y string) int { return cmp.Compare(counts[y], counts[x]) }), counts
}

// TestAnIdleConsoleSleeps: a console that nobody touches goes on less than once a second. It waits, because it is about
// what does not happen. One reading makes several goroutines go on, so that it counts the half seconds in which any did.
func TestAnIdleConsoleSleeps(t *testing.T) {
	press := inside(t, 500)
	press("")
	time.Sleep(2 * time.Second) // what the start left behind
	const seconds = 3
	awake := 0
	var what []string
	for range 2 * seconds {
		names, counts := wakesDuring(time.Second / 2)
		if len(names) > 0 {
			awake++
			what = append(what, fmt.Sprint(counts))
		}
	}
	if awake >= seconds {
		t.Errorf("in %d s it went on in %d half seconds: %s", seconds, awake, strings.Join(what, "\n"))
	}
}

// BenchmarkIdle names what wakes a console that shows a filled list, and how often: timers, channels and locks, not
// system calls. An iteration is a second, after OPDECK_BENCH_WARM ("90s": what calls at the start leave behind).
func BenchmarkIdle(b *testing.B) {
	press := inside(b, 20_000)
	press("")
	warm, _ := time.ParseDuration(cmp.Or(os.Getenv("OPDECK_BENCH_WARM"), "3s"))
	time.Sleep(warm)
	b.ResetTimer()
	names, counts := wakesDuring(time.Duration(b.N) * time.Second)
	b.StopTimer()
	total := int64(0)
	for _, name := range names {
		total += counts[name]
		fmt.Printf("%8.2f a second  %s\n", float64(counts[name])/float64(b.N), name)
	}
	b.ReportMetric(float64(total)/float64(b.N), "wakes/s")
}
