//go:build unix

package scenario

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// BenchmarkSharing lets N processes make 20 calls a second together for three
// lifetimes of 5 s and counts what the service saw: without sharing, with a plain
// file under a lock, and with the shared session on both stores. The times hold
// the whole call, the service's part included.
func BenchmarkSharing(b *testing.B) {
	for _, kind := range []string{"none", "file", "SQLite", "PostgreSQL"} {
		for _, n := range []int{1, 8, 32} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				for range b.N {
					sharing(b, kind, n)
				}
			})
		}
	}
}

func sharing(b *testing.B, kind string, n int) {
	s := newService(b, serviceOptions{Access: 5 * time.Second, Refresh: 20 * time.Second})
	p := place{keyFile: filepath.Join(b.TempDir(), "key")}
	if err := os.WriteFile(p.keyFile, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600); err != nil {
		b.Fatal(err)
	}
	do := "naive"
	switch kind {
	case "file":
		p.url = filepath.Join(b.TempDir(), "pair")
	case "SQLite":
		p.url, do = storetest.URL(b, store.SQLite), "calls"
	case "PostgreSQL":
		p.url, do = storetest.URL(b, store.Postgres), "calls"
	}
	r := joined(all(startMany(b, n, p, s), order{Do: do, For: 15 * time.Second, Gap: time.Duration(n) * time.Second / 20}))
	st := s.stats()
	errs := 0
	for _, k := range r.Errors {
		errs += k
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(r.OK), "calls")
	b.ReportMetric(float64(st.Logins), "logins")
	b.ReportMetric(float64(st.Refreshes), "refreshes")
	b.ReportMetric(float64(st.RefreshesRefused), "refused")
	b.ReportMetric(float64(st.Unauthorized), "401s")
	b.ReportMetric(float64(errs), "errors")
	b.ReportMetric(float64(r.Took[len(r.Took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(r.Took[len(r.Took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkStartUp runs the built program again and again: alone (version), with
// everything open but the store in memory, and with the shared stores. Kinds take
// turns, so that a busy moment hits all.
func BenchmarkStartUp(b *testing.B) {
	program := filepath.Join(b.TempDir(), "opdeck")
	if out, err := exec.Command("go", "build", "-o", program, "../../..").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	s := newService(b, long())
	kinds := map[string][]string{"version": {"version"}}
	keyFile := filepath.Join(b.TempDir(), "key")
	if err := os.WriteFile(keyFile, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600); err != nil {
		b.Fatal(err)
	}
	for kind, url := range map[string]string{"memory": "memory", "SQLite": storetest.URL(b, store.SQLite), "PostgreSQL": storetest.URL(b, store.Postgres)} {
		x := newProgram(b, place{url: url, keyFile: keyFile}, s, password)
		kinds[kind] = []string{"--config", x.config, "--state", filepath.Join(x.home, "state"), "session", "status", "-o", "json"}
	}
	took := map[string][]time.Duration{}
	b.ResetTimer()
	for range b.N {
		for kind, args := range kinds {
			for range 20 {
				cmd := exec.Command(program, args...)
				var errs bytes.Buffer
				cmd.Stderr = &errs
				began := time.Now()
				if err := cmd.Run(); err != nil {
					b.Fatalf("%s: %v: %s", kind, err, errs.String())
				}
				took[kind] = append(took[kind], time.Since(began))
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	for kind, all := range took {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, kind+"-p50-ms")
		b.ReportMetric(float64(all[len(all)/10].Microseconds())/1000, kind+"-p10-ms")
	}
}
