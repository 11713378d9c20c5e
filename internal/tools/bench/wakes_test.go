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

// BenchmarkIdle names what wakes a console that shows a filled list, and how often: timers, channels and locks, not
// system calls. An iteration is a second, after OPDECK_BENCH_WARM ("90s": what calls at the start leave behind).
func BenchmarkIdle(b *testing.B) {
	press := inside(b, 20_000)
	press("")
	warm, _ := time.ParseDuration(cmp.Or(os.Getenv("OPDECK_BENCH_WARM"), "3s"))
	time.Sleep(warm)
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	before := woken()
	b.ResetTimer()
	time.Sleep(time.Duration(b.N) * time.Second)
	b.StopTimer()
	after, total := woken(), int64(0)
	for name, n := range after {
		after[name] = n - before[name]
		total += after[name]
	}
	names := slices.SortedFunc(maps.Keys(after), func(x, y string) int { return cmp.Compare(after[y], after[x]) })
	for _, name := range names {
		if after[name] > 0 {
			fmt.Printf("%8.2f a second  %s\n", float64(after[name])/float64(b.N), name)
		}
	}
	b.ReportMetric(float64(total)/float64(b.N), "wakes/s")
}
