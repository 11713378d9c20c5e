package receiver_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/receiver/receivertest"
	"opdeck/internal/store"
	"opdeck/internal/store/inbox"
	"opdeck/internal/store/storetest"
)

// BenchmarkDurable measures deliveries that were signed, judged, read, stored and answered 200, beside the plain
// insertion of the same bytes in batches of 64 through one prepared statement, on the same disk. Rounds of both
// alternate, so that other work on the machine affects both alike; the medians are reported. "tcp" is the whole way
// over HTTP/1.1 from senders in another process, which shares the processors; without it deliveries are handed to the
// handler. cpu-µs is that of this process for one event, the kernel's part included.
//
//	go test -run '^$' -bench Durable -benchtime 1x ./internal/domain/receiver
func BenchmarkDurable(b *testing.B) {
	for _, tcp := range []bool{false, true} {
		for _, senders := range []int{1, 16, 64} {
			name := fmt.Sprintf("senders=%d", senders)
			if tcp {
				name = "tcp/" + name
			}
			b.Run(name, func(b *testing.B) { benchBeside(b, senders, tcp) })
		}
	}
	b.Run("inbox", benchInbox)
}

const (
	benchBatch  = 64
	benchRounds = 9    // of each kind
	benchEvents = 4000 // a round
)

// rounds are the figures of one kind, a value a round.
type rounds struct{ rate, cpu, p50, p99 []float64 }

// measure runs one round of so many events and keeps its figures.
func (r *rounds) measure(events int, run func() []time.Duration) {
	spent, began := cpuTime(), time.Now()
	took := run()
	all := time.Since(began)
	r.rate = append(r.rate, float64(events)/all.Seconds())
	r.cpu = append(r.cpu, float64((cpuTime()-spent).Nanoseconds())/float64(events)/1000)
	if slices.Sort(took); len(took) > 0 {
		r.p50 = append(r.p50, float64(took[len(took)/2].Microseconds())/1000)
		r.p99 = append(r.p99, float64(took[len(took)*99/100].Microseconds())/1000)
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

func benchBeside(b *testing.B, senders int, tcp bool) {
	raw := newRawInserter(b)
	r := start(b, receiver.Options{Inbox: inbox.New(storetest.Open(b, store.SQLite).Bulk, "https://service.test",
		"machine"), PerSource: -1})
	prepare := func(senders int, requests []*http.Request) func() []time.Duration {
		return func() []time.Duration {
			return sendAll(b, senders, requests, func(req *http.Request) int { return serve(r, req).Code })
		}
	}
	if tcp {
		prepare = overTCP(b, r)
	}
	events := benchEvents
	if senders == 1 {
		events /= 8 // each waits for its own commit
	}
	var plain, durable rounds
	n := 0
	for b.Loop() {
		for range benchRounds {
			records, requests := make([]receiver.Record, benchEvents), make([]*http.Request, events)
			for i := range records {
				records[i] = receivertest.Record(n+i, "op")
			}
			for i := range requests { // signing is the sender's work
				requests[i] = request(b, receivertest.Body(n+i, "op"))
			}
			n += benchEvents
			plain.measure(benchEvents, func() []time.Duration { return raw(records) })
			durable.measure(events, prepare(senders, requests))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(plain.rate), "raw-events/s")
	b.ReportMetric(median(durable.rate), "events/s")
	b.ReportMetric(100*median(durable.rate)/median(plain.rate), "%-of-raw")
	b.ReportMetric(median(plain.cpu), "raw-cpu-µs")
	b.ReportMetric(median(plain.p99), "raw-batch-p99-ms")
	b.ReportMetric(median(durable.cpu), "cpu-µs")
	b.ReportMetric(median(durable.p50), "p50-ms")
	b.ReportMetric(median(durable.p99), "p99-ms")
}

// sendAll sends all requests from so many senders at once, and says how long
// each took.
func sendAll(b *testing.B, senders int, requests []*http.Request, send func(*http.Request) int) []time.Duration {
	took := make([]time.Duration, len(requests))
	var next, failed atomic.Int64
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(requests) {
					return
				}
				began := time.Now()
				if send(requests[i]) != 200 {
					failed.Add(1)
				}
				took[i] = time.Since(began)
			}
		})
	}
	wg.Wait()
	if n := failed.Load(); n > 0 {
		b.Errorf("%d of %d were not answered 200", n, len(requests))
	}
	return took
}

// newRawInserter inserts records as plainly as can be, and says how long each
// batch took.
func newRawInserter(b *testing.B) func([]receiver.Record) []time.Duration {
	s := storetest.Open(b, store.SQLite)
	db, err := sql.Open("sqlite",
		"file:"+s.Bulk.Path()+"?_txlock=immediate&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	insert, err := db.Prepare(`INSERT INTO hook (scope, hook_key, hook_id, hook_type, object, object_id, cuid, raw,
		body_sha256, received_us, source,
 verifier, authenticated, bound, status, reason, detail, last_us)
		VALUES (1,?,?,1,'Operation',?,'D1',?,?,?,'192.0.2.1','jwt',1,1,'verified','','',?)`)
	if err != nil {
		b.Fatal(err)
	}
	return func(records []receiver.Record) (took []time.Duration) {
		for batch := range slices.Chunk(records, benchBatch) {
			began := time.Now()
			tx, err := db.Begin()
			if err != nil {
				b.Fatal(err)
			}
			st := tx.Stmt(insert)
			for _, r := range batch {
				us := r.ReceivedAt.UnixMicro()
				if _, err := st.Exec(r.Key, r.HookID, string(r.ObjectID), r.Raw, r.Hash[:], us, us); err != nil {
					b.Fatal(err)
				}
			}
			if err := tx.Commit(); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
		return took
	}
}

// benchInbox is the plain insertion through Inbox.Insert.
func benchInbox(b *testing.B) {
	in := inbox.New(storetest.Open(b, store.SQLite).Bulk, "https://service.test", "machine")
	var figures rounds
	n := 0
	for b.Loop() {
		for range benchRounds {
			records := make([]receiver.Record, benchEvents)
			for i := range records {
				records[i] = receivertest.Record(n+i, "op")
			}
			n += benchEvents
			figures.measure(benchEvents, func() []time.Duration {
				for batch := range slices.Chunk(records, benchBatch) {
					if _, err := in.Insert(context.Background(), batch); err != nil {
						b.Fatal(err)
					}
				}
				return nil
			})
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(figures.rate), "events/s")
	b.ReportMetric(median(figures.cpu), "cpu-µs")
}

// BenchmarkDecode measures reading, BenchmarkVerify judging, of one delivery.
func BenchmarkDecode(b *testing.B) {
	body := receivertest.Body(1, strings.Repeat("x", 36))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := hook.Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	v := verifier(b, hook.VerifyJWT)
	body := receivertest.Body(1, "op")
	d := hook.Delivery{Header: request(b, body).Header, Body: body, At: clock}
	for b.Loop() {
		if _, err := v.Verify(d); err != nil {
			b.Fatal(err)
		}
	}
}
