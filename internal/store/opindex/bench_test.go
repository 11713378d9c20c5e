package opindex_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/store"
	"opdeck/internal/store/opindex"
	"opdeck/internal/store/storetest"
)

// Sizes of the measurements: OPDECK_INDEX_ROWS operations (default 20,000; 1000000 for real figures), kept and used
// again in OPDECK_INDEX_DIR, or in the store that OPDECK_INDEX_URL names (postgres://…, or postgres for a server of
// the test), when one is set.
func benchRows() int {
	if n, err := strconv.Atoi(os.Getenv("OPDECK_INDEX_ROWS")); err == nil {
		return n
	}
	return 20_000
}

func benchIndex(b *testing.B) (*opindex.Store, string) {
	b.Helper()
	dir, url := os.Getenv("OPDECK_INDEX_DIR"), cmp.Or(os.Getenv("OPDECK_INDEX_URL"), "sqlite")
	if url == "postgres" {
		url = storetest.Server(b)
	}
	if dir == "" {
		dir = filepath.Join(b.TempDir(), "state")
	}
	s, err := store.Open(context.Background(), store.Options{URL: url, Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	x := openIndex(b, s)
	have, err := x.Count(context.Background(), parse(b, ""), now)
	if err != nil {
		b.Fatal(err)
	}
	if int(have) < benchRows() {
		took := fill(b, x, int(have), benchRows(), 10_000)
		fmt.Printf("%d operations put in %v: %.0f rows/s\n", benchRows()-int(have), took.Round(time.Millisecond), float64(benchRows()-int(have))/took.Seconds())
	}
	if url != "sqlite" {
		return x, ""
	}
	return x, filepath.Join(dir, "opdeck-index.db")
}

// processor is the processor time that the test has used: on a busy machine it says more than the clock.
func processor() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // the zero value makes a nonsensical figure
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// fill puts operations from..to and returns the processor time within Put alone.
func fill(tb testing.TB, x *opindex.Store, from, to, batch int) (took time.Duration) {
	o := indextest.Options{Raw: true}
	for from < to {
		var list []index.Entry
		for range min(batch, to-from) {
			list = append(list, index.Entry{Op: o.Make(from), Origin: index.List, Seen: now})
			from++
		}
		began := processor()
		if _, err := x.Put(context.Background(), index.Batch{Entries: list}); err != nil {
			tb.Fatal(err)
		}
		took += processor() - began
	}
	return took
}

// BenchmarkIndexPut is the rate of new operations, ten thousand a transaction.
func BenchmarkIndexPut(b *testing.B) {
	s, err := store.Open(context.Background(), store.Options{URL: "sqlite", Dir: filepath.Join(b.TempDir(), "state")})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	x := openIndex(b, s)
	var took time.Duration
	rows := 0
	for b.Loop() {
		took += fill(b, x, rows, rows+50_000, 10_000)
		rows += 50_000
	}
	b.ReportMetric(float64(rows)/took.Seconds(), "rows/s")
}

const plainKind = "scope = 1 AND %s"

var newest = " ORDER BY created_us DESC, n DESC LIMIT 60"

// questions are asked of the index and, as people would write them, of the
// sqlite3 program on the same file.
var questions = []struct{ name, filter, sort, kind, plain string }{
	{"all", "", "", "window", "SELECT n FROM index_op WHERE scope = 1" + newest},
	{"status", "status:PENDING", "", "window", "SELECT n FROM index_op WHERE " + fmt.Sprintf(plainKind, "status = 'PENDING'") + newest},
	{"status-oldest", "status:PENDING", "created", "window", "SELECT n FROM index_op WHERE " + fmt.Sprintf(plainKind, "status = 'PENDING'") + " ORDER BY created_us, n LIMIT 60"},
	{"status-by-amount", "status:PENDING", "-amount", "window", "SELECT n FROM index_op WHERE " + fmt.Sprintf(plainKind, "status = 'PENDING'") + " ORDER BY amount_key DESC, n DESC LIMIT 60"},
	{"type-none", "type:WARP", "", "window", "SELECT n FROM index_op WHERE " + fmt.Sprintf(plainKind, "type = 'WARP'") + newest},
	{"currency", "currency:KWD", "", "window", "SELECT n FROM index_op WHERE " + fmt.Sprintf(plainKind, "currency = 'KWD'") + newest},
	{"amount", "amount>=2000000", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND amount_key >= '100072'" + newest},
	{"amount-scanLimit", "amount:1048576.5..1048580", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND amount_key BETWEEN '1000710485765' AND '100071048580'" + newest},
	{"fee", "fee>39", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND fee_key > '1000239'" + newest},
	{"created-old", "created<2026-01-01", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND created_us < 1767225600000000" + newest},
	{"updated", "updated<2h", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND updated_us >= 1782813600000000" + newest},
	{"customer", "customer:acme", "", "window", "SELECT n FROM index_op WHERE customer IN (SELECT n FROM index_party WHERE body LIKE '%acme%')" + newest},
	{"party-scanLimit", `party:"quartz data inc. 3"`, "", "window", "SELECT n FROM index_op WHERE destination IN (SELECT n FROM index_party WHERE body LIKE '%quartz data inc. 3%')" + newest},
	{"party-none", "party:zebra", "", "window", "SELECT n FROM index_op WHERE destination IN (SELECT n FROM index_party WHERE body LIKE '%zebra%')" + newest},
	{"reference", "ref:0012345", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND reference LIKE '%0012345%'" + newest},
	{"reference-none", "ref:zzzz", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND reference LIKE '%zzzz%'" + newest},
	{"comment", "comment:refund", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND comment LIKE '%refund%'" + newest},
	{"comment-two-none", "comment:zq", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND comment LIKE '%zq%'" + newest},
	{"doc", "doc:declaration", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND doc_text LIKE '%declaration%'" + newest},
	{"docs", "docs>=2", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND docs >= 2" + newest},
	{"docs-none", "docs>9", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND docs > 9" + newest},
	{"locked", "has:locked", "", "window", "SELECT n FROM index_op WHERE " + fmt.Sprintf(plainKind, "flags & 1") + newest},
	{"id", "id:00ab", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND opid LIKE '00ab%'" + newest},
	{"free", "meridian", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND (reference LIKE '%meridian%' OR comment LIKE '%meridian%' OR doc_text LIKE '%meridian%' OR destination IN (SELECT n FROM index_party WHERE body LIKE '%meridian%') OR customer IN (SELECT n FROM index_party WHERE body LIKE '%meridian%'))" + newest},
	{"free-none", "zebra", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND (reference LIKE '%zebra%' OR comment LIKE '%zebra%' OR doc_text LIKE '%zebra%' OR destination IN (SELECT n FROM index_party WHERE body LIKE '%zebra%') OR customer IN (SELECT n FROM index_party WHERE body LIKE '%zebra%'))" + newest},
	{"free-two-none", "zq", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND (reference LIKE '%zq%' OR comment LIKE '%zq%' OR doc_text LIKE '%zq%' OR destination IN (SELECT n FROM index_party WHERE body LIKE '%zq%') OR customer IN (SELECT n FROM index_party WHERE body LIKE '%zq%'))" + newest},
	{"free-digits", "001234", "", "window", "SELECT n FROM index_op WHERE scope = 1 AND (reference LIKE '%001234%' OR comment LIKE '%001234%' OR doc_text LIKE '%001234%' OR destination IN (SELECT n FROM index_party WHERE body || ids LIKE '%001234%') OR source IN (SELECT n FROM index_party WHERE body || ids LIKE '%001234%') OR customer IN (SELECT n FROM index_party WHERE body || ids LIKE '%001234%'))" + newest},
	{"word-amount", "1,682.00", "", "window", ""},
	{"word-amount-none", "98,765,432.10", "", "window", ""},
	{"word-day", "2025-11-22", "", "window", ""},
	{"word-day-none", "2019-11-22", "", "window", ""},
	{"word-status", "pending", "", "window", ""},
	{"word-id", "00ab12", "", "window", ""},
	{"word-id-cut", "00ab12…345678", "", "window", ""},
	{"word-accents", "moller", "", "window", ""},
	{"words", "meridian 1,682.00 eur pending", "", "window", ""},
	{"words-none", "zebra 1,682.00 eur pending", "", "window", ""},
	{"two", "status:PENDING customer:acme amount>1000", "", "window", "SELECT n FROM index_op WHERE " + fmt.Sprintf(plainKind, "status = 'PENDING'") + " AND customer IN (SELECT n FROM index_party WHERE body LIKE '%acme%') AND amount_key > '100041'" + newest},
	{"three", "status:PENDING currency:KWD customer:acme", "", "window", "SELECT n FROM index_op WHERE " + fmt.Sprintf(plainKind, "status = 'PENDING' AND currency = 'KWD'") + " AND customer IN (SELECT n FROM index_party WHERE body LIKE '%acme%')" + newest},
	{"by-customer", "", "customer", "window", "SELECT o.n FROM index_op o JOIN index_party p ON p.n = o.customer WHERE o.scope = 1 ORDER BY p.sort, p.n, created_us DESC, o.n DESC LIMIT 60"},
	{"by-status", "", "status", "window", "SELECT o.n FROM index_op o WHERE o.scope = 1 ORDER BY o.status, created_us DESC, o.n DESC LIMIT 60"},
	{"middle", "", "-amount", "middle", ""},
	{"middle-pending", "status:PENDING", "-created", "middle", ""},
	{"place", "", "-created", "place", "SELECT count(*) FROM index_op WHERE scope = 1 AND created_us > 1767225600000000"},
	{"totals", "", "", "totals", "SELECT o.currency, count(*), sum(o.hi), sum(o.lo), sum(o.nanos) FROM index_op o WHERE o.scope = 1 GROUP BY 1"},
	{"totals-status", "status:SUCCESS", "", "totals", "SELECT o.currency, count(*), sum(o.hi), sum(o.lo), sum(o.nanos) FROM index_op o WHERE o.scope = 1 AND o.status = 'SUCCESS' GROUP BY 1"},
	{"totals-amount", "amount>1000", "", "totals", "SELECT o.currency, count(*), sum(o.hi), sum(o.lo), sum(o.nanos) FROM index_op o WHERE o.scope = 1 AND o.amount_key > '100041' GROUP BY 1"},
	{"group-customer", "", "", "customers", "SELECT p.id, o.currency, count(*), sum(o.hi), sum(o.lo), sum(o.nanos) FROM index_op o JOIN index_party p ON p.n = o.customer GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 50"},
	{"group-two", "", "", "two", ""},
	{"days", "status:SUCCESS", "", "days", "SELECT created_us / 86400000000, count(*) FROM index_op WHERE " + fmt.Sprintf(plainKind, "status = 'SUCCESS'") + " AND created_us > 1780272000000000 GROUP BY 1"},
}

// BenchmarkIndexQuestions prints the time of each question beside that of the
// sqlite3 program on the same file.
func BenchmarkIndexQuestions(b *testing.B) {
	x, file := benchIndex(b)
	ctx := context.Background()
	sqlite3, err := exec.LookPath("sqlite3")
	if err != nil {
		b.Log("sqlite3 is not installed: its times are left out")
	}
	for _, q := range questions {
		e := parse(b, q.filter)
		order, err := index.ParseSort(q.sort)
		if err != nil {
			b.Fatal(err)
		}
		anchor := ""
		if q.kind == "place" {
			w, err := x.Window(ctx, index.Query{Filter: e, Sort: order, Skip: benchRows() / 20, Limit: 1}, now)
			if err != nil {
				b.Fatal(err)
			}
			anchor = string(w.Rows[0].Op.OPID)
		}
		b.Run(q.name, func(b *testing.B) {
			began := processor()
			for b.Loop() {
				switch q.kind {
				case "window":
					_, err = x.Window(ctx, index.Query{Filter: e, Sort: order, Limit: 60}, now)
				case "middle":
					_, err = x.Window(ctx, index.Query{Filter: e, Sort: order, Skip: benchRows() / 20, Limit: 120}, now)
				case "place":
					_, err = x.Place(ctx, e, order, anchor, now)
				case "totals":
					_, err = x.Totals(ctx, e, nil, 0, now)
				case "customers":
					_, err = x.Totals(ctx, e, []index.By{index.ByCustomer}, 50, now)
				case "two":
					_, err = x.Totals(ctx, e, []index.By{index.ByCustomer, index.ByStatus}, 50, now)
				case "days":
					_, err = x.Timeline(ctx, e, now)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((processor()-began).Microseconds())/1000/float64(b.N), "cpu-ms")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms")
			if sqlite3 != "" && q.plain != "" && file != "" {
				b.ReportMetric(askProgram(b, sqlite3, file, q.plain), "sqlite3-ms")
			}
		})
	}
	fmt.Printf("%d operations, resident: %d MB (peak %d MB)\n", benchRows(), status("VmRSS"), status("VmHWM"))
}

var realTime = regexp.MustCompile(`real ([0-9.]+)`)

// askProgram is what the sqlite3 program says the query took, in ms: the second
// of two times, with a warm cache.
func askProgram(b *testing.B, program, file, query string) float64 {
	cmd := exec.Command(program, "-readonly", file)
	cmd.Stdin = strings.NewReader(".timer on\n" + query + ";\n" + query + ";\n")
	out, err := cmd.CombinedOutput()
	times := realTime.FindAllSubmatch(out, -1)
	if err != nil || len(times) != 2 {
		b.Logf("sqlite3: %v: %.300s", err, out)
		return -1
	}
	s, _ := strconv.ParseFloat(string(times[1][1]), 64)
	return s * 1000
}

func status(name string) int {
	runtime.GC()
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name+":" {
			kb, _ := strconv.Atoi(f[1])
			return kb / 1024
		}
	}
	return -1
}
